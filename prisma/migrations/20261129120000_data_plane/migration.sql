-- What the wider data plane needs: regions and timeouts of deployments, entitlements of keys, trusted token issuers, and
-- price books that were taken over as a whole.
-- AlterTable
ALTER TABLE "api_keys" ADD COLUMN     "entitled_consumer_ids" TEXT[] DEFAULT ARRAY[]::TEXT[];

-- AlterTable
ALTER TABLE "deployments" ADD COLUMN     "connect_timeout_ms" INTEGER,
ADD COLUMN     "first_byte_timeout_ms" INTEGER,
ADD COLUMN     "idle_timeout_ms" INTEGER,
ADD COLUMN     "region" TEXT;

-- AlterTable
ALTER TABLE "fx_rates" ADD COLUMN     "import_id" TEXT;

-- AlterTable
ALTER TABLE "prices" ADD COLUMN     "import_id" TEXT;

-- CreateTable
CREATE TABLE "price_imports" (
    "id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "book" TEXT NOT NULL,
    "format" TEXT NOT NULL,
    "source" TEXT NOT NULL,
    "text_hash" TEXT NOT NULL,
    "row_count" INTEGER NOT NULL,
    "created_by_id" TEXT,
    "undone_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "price_imports_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "token_issuers" (
    "id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "issuer" TEXT NOT NULL,
    "token_prefix" TEXT,
    "document" JSONB NOT NULL,
    "secret_ciphertext" BYTEA,
    "secret_changed_at" TIMESTAMPTZ(3),
    "disabled_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "token_issuers_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "price_imports_organisation_id_created_at_idx" ON "price_imports"("organisation_id", "created_at");

-- CreateIndex
CREATE UNIQUE INDEX "token_issuers_issuer_key" ON "token_issuers"("issuer");

-- CreateIndex
CREATE UNIQUE INDEX "token_issuers_token_prefix_key" ON "token_issuers"("token_prefix");

-- CreateIndex
CREATE UNIQUE INDEX "token_issuers_organisation_id_name_key" ON "token_issuers"("organisation_id", "name");


-- Rules a bug in the code above the database must not be able to break.
ALTER TABLE "deployments"
  ADD CONSTRAINT "deployments_timeouts" CHECK (
    COALESCE("connect_timeout_ms", 1) > 0 AND COALESCE("first_byte_timeout_ms", 1) > 0 AND COALESCE("idle_timeout_ms", 1) > 0);
ALTER TABLE "price_imports"
  ADD CONSTRAINT "price_imports_book" CHECK ("book" IN ('prices', 'fx')),
  ADD CONSTRAINT "price_imports_rows" CHECK ("row_count" > 0);
CREATE INDEX "prices_import_id_idx" ON "prices" ("import_id") WHERE "import_id" IS NOT NULL;
CREATE INDEX "fx_rates_import_id_idx" ON "fx_rates" ("import_id") WHERE "import_id" IS NOT NULL;
