-- Webhooks: the secret that an organisation's are signed with, and what is to be posted, written with the change it tells of.
-- CreateTable
CREATE TABLE "webhook_secrets" (
    "organisation_id" TEXT NOT NULL,
    "secret_ciphertext" BYTEA NOT NULL,
    "previous_ciphertext" BYTEA,
    "previous_until" TIMESTAMPTZ(3),
    "changed_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "webhook_secrets_pkey" PRIMARY KEY ("organisation_id")
);

-- CreateTable
CREATE TABLE "webhook_deliveries" (
    "id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "target_box" BYTEA NOT NULL,
    "payload" JSONB NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "last_failure" TEXT,
    "queued_at" TIMESTAMPTZ(3),
    "delivered_at" TIMESTAMPTZ(3),
    "failed_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "webhook_deliveries_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "webhook_deliveries_organisation_id_created_at_idx" ON "webhook_deliveries"("organisation_id", "created_at");

-- Rules a bug in the code above the database must not be able to break.
ALTER TABLE "webhook_secrets"
  ADD CONSTRAINT "webhook_secrets_previous" CHECK (("previous_ciphertext" IS NULL) = ("previous_until" IS NULL));
ALTER TABLE "webhook_deliveries"
  ADD CONSTRAINT "webhook_deliveries_end" CHECK ("delivered_at" IS NULL OR "failed_at" IS NULL);
-- What is still to be posted is few among what was.
CREATE INDEX "webhook_deliveries_open_idx" ON "webhook_deliveries" ("created_at") WHERE "delivered_at" IS NULL AND "failed_at" IS NULL;
