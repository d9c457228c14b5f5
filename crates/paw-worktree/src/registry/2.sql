ALTER TABLE conversations ADD COLUMN model TEXT;
