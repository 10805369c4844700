"""Bank: statements as files become bookings, with proof that none was lost, doubled or invented."""
