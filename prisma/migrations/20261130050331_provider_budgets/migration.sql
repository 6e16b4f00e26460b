-- What may be spent at a provider, or through one of its deployments, whoever calls.
-- AlterTable
ALTER TABLE "budgets" ADD COLUMN     "deployment_id" TEXT,
ADD COLUMN     "provider_id" TEXT;

-- CreateIndex
CREATE INDEX "budgets_provider_id_idx" ON "budgets"("provider_id");

-- CreateIndex
CREATE INDEX "budgets_deployment_id_idx" ON "budgets"("deployment_id");

ALTER TABLE "budgets"
  DROP CONSTRAINT "budgets_one_node",
  ADD CONSTRAINT "budgets_one_node" CHECK (num_nonnulls("consumer_id", "api_key_id", "provider_id", "deployment_id") = 1),
  ADD CONSTRAINT "budgets_target_limit_only" CHECK (num_nonnulls("provider_id", "deployment_id") = 0
    OR ("ladder" IS NULL AND "overflow_amount" = 0 AND NOT "per_end_user"));
