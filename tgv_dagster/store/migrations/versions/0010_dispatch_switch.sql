-- The dispatch switch stands in the table from the start, so that a missing key can mean off.
INSERT INTO system_config (key, value, set_by) VALUES ('use_dispatch', 'true', 'schema')
ON CONFLICT (key) DO NOTHING;
