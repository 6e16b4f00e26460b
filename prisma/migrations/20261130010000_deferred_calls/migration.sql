-- CreateTable
CREATE TABLE "deferred_calls" (
    "id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "api_key_id" TEXT NOT NULL,
    "app_id" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "request_box" BYTEA NOT NULL,
    "answer_box" BYTEA,
    "code" TEXT,
    "tries" INTEGER NOT NULL DEFAULT 0,
    "breaks" INTEGER NOT NULL DEFAULT 0,
    "next_at" TIMESTAMPTZ(3) NOT NULL,
    "claimed_until" TIMESTAMPTZ(3),
    "deadline_at" TIMESTAMPTZ(3) NOT NULL,
    "keep_seconds" INTEGER NOT NULL,
    "ended_at" TIMESTAMPTZ(3),
    "prune_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "deferred_calls_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "deferred_calls_organisation_id_created_at_idx" ON "deferred_calls"("organisation_id", "created_at");

-- Rules a bug in the code above the database must not be able to break.
ALTER TABLE "deferred_calls"
  ADD CONSTRAINT "deferred_calls_state" CHECK ("state" IN ('pending', 'running', 'done', 'failed', 'cancelled', 'expired')),
  ADD CONSTRAINT "deferred_calls_end" CHECK (("state" IN ('pending', 'running')) = ("ended_at" IS NULL)),
  ADD CONSTRAINT "deferred_calls_prune" CHECK (("ended_at" IS NULL) = ("prune_at" IS NULL));
-- What is due is few among what is kept.
CREATE INDEX "deferred_calls_next_at_idx" ON "deferred_calls" ("next_at") WHERE "ended_at" IS NULL;
CREATE INDEX "deferred_calls_prune_at_idx" ON "deferred_calls" ("prune_at") WHERE "ended_at" IS NOT NULL;
