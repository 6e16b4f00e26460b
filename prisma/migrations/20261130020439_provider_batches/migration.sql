-- Files and batches at providers: whose they are, and what batches are still owed.
CREATE TABLE "stored_objects" (
    "organisation_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "facts" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "stored_objects_pkey" PRIMARY KEY ("organisation_id","kind","id")
);

CREATE TABLE "provider_batches" (
    "reservation_id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "facts" JSONB NOT NULL,
    "hold" JSONB,
    "batch" JSONB,
    "settlement" JSONB,
    "tries" INTEGER NOT NULL DEFAULT 0,
    "next_at" TIMESTAMPTZ(3) NOT NULL,
    "claimed_until" TIMESTAMPTZ(3),
    "ended_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "provider_batches_pkey" PRIMARY KEY ("reservation_id")
);

CREATE INDEX "provider_batches_organisation_id_created_at_idx" ON "provider_batches"("organisation_id", "created_at");

-- What a worker looks for every second.
CREATE INDEX "provider_batches_open_idx" ON "provider_batches"("next_at") WHERE "ended_at" IS NULL;

-- Rules a bug in the code above the database must not be able to break.
ALTER TABLE "provider_batches"
  ADD CONSTRAINT "provider_batches_state" CHECK ("state" IN ('creating', 'running', 'settling', 'settled', 'void')),
  ADD CONSTRAINT "provider_batches_end" CHECK (("state" IN ('settled', 'void')) = ("ended_at" IS NOT NULL)),
  ADD CONSTRAINT "provider_batches_settlement" CHECK ("state" <> 'settled' OR "settlement" IS NOT NULL);
