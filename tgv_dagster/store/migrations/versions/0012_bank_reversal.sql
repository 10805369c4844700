-- Deleting a booking looks for bookings that reverse it; without an index an undo would read the
-- whole table once per booking.
CREATE INDEX txn_master_reversal ON txn_master (reversal_of) WHERE reversal_of IS NOT NULL;
