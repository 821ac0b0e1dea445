-- The facts of a completed video, as JSON: size, duration, frame rate, codec, bytes. `seconds`, `width` and `height` stay
-- as requested. `warnings` is a JSON list of sentences about the difference. Both are NULL on videos completed before.
ALTER TABLE tasks ADD COLUMN video_facts TEXT;
ALTER TABLE tasks ADD COLUMN warnings TEXT;
