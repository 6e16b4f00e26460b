-- A deferred call is marked before it is sent, so that a worker's death never sends it twice.
ALTER TABLE "deferred_calls" ADD COLUMN "sent_at" TIMESTAMPTZ(3);
