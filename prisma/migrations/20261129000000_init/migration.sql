-- All tables. What Prisma's language cannot say (partitions, insert-only triggers, checks) stands by hand at the end.

-- CreateSchema
CREATE SCHEMA IF NOT EXISTS "public";

-- CreateEnum
CREATE TYPE "ConsumerKind" AS ENUM ('organization', 'department', 'team', 'app', 'user');

-- CreateEnum
CREATE TYPE "Role" AS ENUM ('owner', 'finance', 'lead', 'manager', 'developer', 'engineer', 'auditor');

-- CreateEnum
CREATE TYPE "Environment" AS ENUM ('production', 'test');

-- CreateEnum
CREATE TYPE "Meter" AS ENUM ('cost', 'input_tokens', 'output_tokens', 'total_tokens', 'requests');

-- CreateEnum
CREATE TYPE "PeriodKind" AS ENUM ('day', 'week', 'month', 'quarter', 'year');

-- CreateEnum
CREATE TYPE "Enforcement" AS ENUM ('enforce', 'warn', 'shadow');

-- CreateEnum
CREATE TYPE "LedgerKind" AS ENUM ('usage', 'correction', 'adjustment');

-- CreateEnum
CREATE TYPE "ApprovalState" AS ENUM ('pending', 'approved', 'declined', 'withdrawn', 'expired');

-- CreateEnum
CREATE TYPE "RolloutState" AS ENUM ('running', 'paused', 'completed', 'aborted');

-- CreateTable
CREATE TABLE "organisations" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "currency" TEXT NOT NULL,
    "time_zone" TEXT NOT NULL,
    "fiscal_year_start_month" INTEGER NOT NULL DEFAULT 1,
    "week_starts_on" INTEGER NOT NULL DEFAULT 1,
    "locale" TEXT NOT NULL DEFAULT 'en',
    "budget_refusal_status" INTEGER NOT NULL DEFAULT 429,
    "is_sample" BOOLEAN NOT NULL DEFAULT false,
    "snapshot_epoch" BIGINT NOT NULL DEFAULT 0,
    "published_epoch" BIGINT NOT NULL DEFAULT 0,
    "correction_sequence" BIGINT NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "organisations_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "consumers" (
    "id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "parent_id" TEXT,
    "kind" "ConsumerKind" NOT NULL,
    "name" TEXT NOT NULL,
    "cost_centre" TEXT,
    "owner_user_id" TEXT,
    "policy_id" TEXT,
    "frozen_at" TIMESTAMPTZ(3),
    "archived_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "consumers_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "users" (
    "id" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "password_hash" TEXT,
    "locale" TEXT,
    "session_version" INTEGER NOT NULL DEFAULT 1,
    "disabled_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "users_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "memberships" (
    "id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "consumer_id" TEXT NOT NULL,
    "role" "Role" NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "memberships_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "api_keys" (
    "id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "app_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "environment" "Environment" NOT NULL,
    "traffic_class" TEXT NOT NULL DEFAULT 'general',
    "entitled_classes" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "is_vip" BOOLEAN NOT NULL DEFAULT false,
    "scopes" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "allowed_ips" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "policy_id" TEXT,
    "created_by_id" TEXT,
    "expires_at" TIMESTAMPTZ(3),
    "frozen_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "api_keys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "api_key_secrets" (
    "hash" TEXT NOT NULL,
    "api_key_id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "prefix" TEXT NOT NULL,
    "last_four" TEXT NOT NULL,
    "valid_until" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "api_key_secrets_pkey" PRIMARY KEY ("hash")
);

-- CreateTable
CREATE TABLE "providers" (
    "id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "base_url" TEXT NOT NULL,
    "secret_ciphertext" BYTEA,
    "secret_changed_at" TIMESTAMPTZ(3),
    "secret_hint" TEXT,
    "is_external" BOOLEAN NOT NULL DEFAULT true,
    "billing_mode" TEXT NOT NULL DEFAULT 'none',
    "disabled_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "providers_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "models" (
    "id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "max_output_tokens" INTEGER,
    "context_tokens" INTEGER,
    "is_external" BOOLEAN NOT NULL DEFAULT true,
    "disabled_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "models_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "deployments" (
    "id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "model_id" TEXT NOT NULL,
    "provider_id" TEXT NOT NULL,
    "upstream_model" TEXT NOT NULL,
    "weight" INTEGER NOT NULL DEFAULT 1,
    "priority" INTEGER NOT NULL DEFAULT 0,
    "timeout_ms" INTEGER NOT NULL DEFAULT 600000,
    "disabled_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "deployments_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "prices" (
    "id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "model_id" TEXT NOT NULL,
    "currency" TEXT NOT NULL,
    "rates" JSONB NOT NULL,
    "source" TEXT NOT NULL DEFAULT 'manual',
    "effective_from" TIMESTAMPTZ(3) NOT NULL,
    "effective_to" TIMESTAMPTZ(3),
    "created_by_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "prices_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "fx_rates" (
    "id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "base" TEXT NOT NULL,
    "quote" TEXT NOT NULL,
    "rate" TEXT NOT NULL,
    "source" TEXT NOT NULL,
    "effective_from" TIMESTAMPTZ(3) NOT NULL,
    "created_by_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "fx_rates_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "budgets" (
    "id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "consumer_id" TEXT,
    "api_key_id" TEXT,
    "name" TEXT NOT NULL,
    "meter" "Meter" NOT NULL DEFAULT 'cost',
    "period_kind" "PeriodKind" NOT NULL,
    "limit_amount" BIGINT NOT NULL,
    "overflow_amount" BIGINT NOT NULL DEFAULT 0,
    "enforcement" "Enforcement" NOT NULL DEFAULT 'enforce',
    "ladder" TEXT,
    "environment" "Environment",
    "models" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "classes" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "frozen_at" TIMESTAMPTZ(3),
    "archived_at" TIMESTAMPTZ(3),
    "limit_version" BIGINT NOT NULL DEFAULT 1,
    "opening_period_id" TEXT,
    "opening_amount" BIGINT NOT NULL DEFAULT 0,
    "created_by_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "budgets_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "grants" (
    "id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "budget_id" TEXT NOT NULL,
    "period_id" TEXT NOT NULL,
    "amount" BIGINT NOT NULL,
    "starts_at" TIMESTAMPTZ(3) NOT NULL,
    "ends_at" TIMESTAMPTZ(3) NOT NULL,
    "kind" TEXT NOT NULL DEFAULT 'top_up',
    "reason" TEXT NOT NULL,
    "approval_id" TEXT,
    "revoked_at" TIMESTAMPTZ(3),
    "created_by_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "grants_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "rate_limits" (
    "id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "consumer_id" TEXT,
    "api_key_id" TEXT,
    "requests_per_minute" INTEGER,
    "burst_requests" INTEGER,
    "tokens_per_minute" INTEGER,
    "concurrency" INTEGER,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "rate_limits_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "policies" (
    "id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "active_version_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "policies_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "policy_versions" (
    "id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "policy_id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "document" JSONB NOT NULL,
    "note" TEXT,
    "created_by_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "policy_versions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "rollouts" (
    "id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "policy_id" TEXT NOT NULL,
    "policy_version_id" TEXT NOT NULL,
    "percent" INTEGER NOT NULL,
    "state" "RolloutState" NOT NULL DEFAULT 'running',
    "created_by_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "rollouts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "ledger_entries" (
    "reserved_at" TIMESTAMPTZ(3) NOT NULL,
    "request_id" TEXT NOT NULL,
    "attempt" INTEGER NOT NULL,
    "kind" "LedgerKind" NOT NULL,
    "sequence" INTEGER NOT NULL DEFAULT 0,
    "ledger_sequence" BIGSERIAL NOT NULL,
    "counter_sequence" BIGINT,
    "organisation_id" TEXT NOT NULL,
    "booked_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "settled_at" TIMESTAMPTZ(3) NOT NULL,
    "api_key_id" TEXT,
    "app_id" TEXT,
    "consumer_path" TEXT[],
    "end_user" TEXT,
    "environment" TEXT NOT NULL,
    "traffic_class" TEXT NOT NULL,
    "provider_id" TEXT,
    "deployment_id" TEXT,
    "route" TEXT NOT NULL,
    "model_requested" TEXT NOT NULL,
    "model_served" TEXT NOT NULL,
    "decision" TEXT NOT NULL,
    "rung" INTEGER NOT NULL DEFAULT 0,
    "outcome" TEXT NOT NULL,
    "is_estimated" BOOLEAN NOT NULL DEFAULT false,
    "is_stream" BOOLEAN NOT NULL DEFAULT false,
    "is_overflow" BOOLEAN NOT NULL DEFAULT false,
    "usage" JSONB NOT NULL,
    "components" JSONB NOT NULL,
    "price_id" TEXT,
    "price_currency" TEXT NOT NULL,
    "price_amount" BIGINT NOT NULL,
    "currency" TEXT NOT NULL,
    "amount" BIGINT NOT NULL,
    "fx_rate" TEXT,
    "saved_amount" BIGINT NOT NULL DEFAULT 0,
    "held_amount" BIGINT NOT NULL DEFAULT 0,
    "overage_amount" BIGINT NOT NULL DEFAULT 0,
    "lines" JSONB NOT NULL,
    "explanation" JSONB,
    "latency_ms" INTEGER,
    "first_byte_ms" INTEGER,
    "status_code" INTEGER,

    CONSTRAINT "ledger_entries_pkey" PRIMARY KEY ("reserved_at","request_id","attempt","kind","sequence")
) PARTITION BY RANGE ("reserved_at");

-- CreateTable
CREATE TABLE "usage_rollups" (
    "organisation_id" TEXT NOT NULL,
    "bucket_start" TIMESTAMPTZ(3) NOT NULL,
    "app_id" TEXT NOT NULL,
    "api_key_id" TEXT NOT NULL,
    "model_served" TEXT NOT NULL,
    "provider_id" TEXT NOT NULL,
    "environment" TEXT NOT NULL,
    "traffic_class" TEXT NOT NULL,
    "price_currency" TEXT NOT NULL,
    "requests" BIGINT NOT NULL DEFAULT 0,
    "input_tokens" BIGINT NOT NULL DEFAULT 0,
    "cache_read_tokens" BIGINT NOT NULL DEFAULT 0,
    "output_tokens" BIGINT NOT NULL DEFAULT 0,
    "price_amount" BIGINT NOT NULL DEFAULT 0,
    "amount" BIGINT NOT NULL DEFAULT 0,
    "saved_amount" BIGINT NOT NULL DEFAULT 0,
    "downgrade_requests" BIGINT NOT NULL DEFAULT 0,
    "error_requests" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "usage_rollups_pkey" PRIMARY KEY ("organisation_id","bucket_start","app_id","api_key_id","model_served","provider_id","environment","traffic_class","price_currency")
);

-- CreateTable
CREATE TABLE "budget_rollups" (
    "organisation_id" TEXT NOT NULL,
    "budget_id" TEXT NOT NULL,
    "period_id" TEXT NOT NULL,
    "meter" "Meter" NOT NULL,
    "amount" BIGINT NOT NULL DEFAULT 0,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "budget_rollups_pkey" PRIMARY KEY ("organisation_id","budget_id","period_id")
);

-- CreateTable
CREATE TABLE "refusals" (
    "request_id" TEXT NOT NULL,
    "refused_at" TIMESTAMPTZ(3) NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "api_key_id" TEXT,
    "app_id" TEXT,
    "consumer_path" TEXT[],
    "environment" TEXT,
    "traffic_class" TEXT,
    "route" TEXT NOT NULL,
    "model_requested" TEXT,
    "status_code" INTEGER NOT NULL,
    "code" TEXT NOT NULL,
    "budget_id" TEXT,
    "explanation" JSONB,

    CONSTRAINT "refusals_pkey" PRIMARY KEY ("refused_at","request_id")
);

-- CreateTable
CREATE TABLE "approvals" (
    "id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "budget_id" TEXT NOT NULL,
    "requested_by_id" TEXT NOT NULL,
    "amount" BIGINT NOT NULL,
    "ends_at" TIMESTAMPTZ(3),
    "reason" TEXT NOT NULL,
    "state" "ApprovalState" NOT NULL DEFAULT 'pending',
    "decided_by_id" TEXT,
    "decided_at" TIMESTAMPTZ(3),
    "decided_amount" BIGINT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "approvals_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "alerts" (
    "id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "budget_id" TEXT,
    "period_id" TEXT,
    "threshold" INTEGER,
    "kind" TEXT NOT NULL,
    "detail" JSONB NOT NULL,
    "acknowledged_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "alerts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "audit_log" (
    "id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "actor_id" TEXT,
    "actor_label" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "object_type" TEXT NOT NULL,
    "object_id" TEXT NOT NULL,
    "before" JSONB,
    "after" JSONB,
    "request_id" TEXT,
    "effective_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "audit_log_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "snapshot_changes" (
    "id" BIGSERIAL NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "entity" TEXT NOT NULL,
    "entity_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "snapshot_changes_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "idempotency_records" (
    "organisation_id" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "actor_id" TEXT NOT NULL,
    "body_hash" TEXT NOT NULL,
    "status_code" INTEGER,
    "response" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "idempotency_records_pkey" PRIMARY KEY ("organisation_id","actor_id","key")
);

-- CreateTable
CREATE TABLE "reconciliations" (
    "id" TEXT NOT NULL,
    "organisation_id" TEXT NOT NULL,
    "provider_id" TEXT,
    "currency" TEXT NOT NULL,
    "bill_amount" BIGINT,
    "ledger_amount" BIGINT NOT NULL,
    "counter_amount" BIGINT,
    "corrections" INTEGER NOT NULL DEFAULT 0,
    "detail" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "reconciliations_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "consumers_organisation_id_kind_idx" ON "consumers"("organisation_id", "kind");

-- CreateIndex
CREATE INDEX "consumers_parent_id_idx" ON "consumers"("parent_id");

-- CreateIndex
CREATE UNIQUE INDEX "consumers_organisation_id_parent_id_name_key" ON "consumers"("organisation_id", "parent_id", "name");

-- CreateIndex
CREATE UNIQUE INDEX "users_email_key" ON "users"("email");

-- CreateIndex
CREATE INDEX "memberships_organisation_id_idx" ON "memberships"("organisation_id");

-- CreateIndex
CREATE UNIQUE INDEX "memberships_user_id_consumer_id_role_key" ON "memberships"("user_id", "consumer_id", "role");

-- CreateIndex
CREATE INDEX "api_keys_organisation_id_app_id_idx" ON "api_keys"("organisation_id", "app_id");

-- CreateIndex
CREATE INDEX "api_key_secrets_api_key_id_idx" ON "api_key_secrets"("api_key_id");

-- CreateIndex
CREATE UNIQUE INDEX "providers_organisation_id_name_key" ON "providers"("organisation_id", "name");

-- CreateIndex
CREATE UNIQUE INDEX "models_organisation_id_name_key" ON "models"("organisation_id", "name");

-- CreateIndex
CREATE INDEX "deployments_organisation_id_model_id_idx" ON "deployments"("organisation_id", "model_id");

-- CreateIndex
CREATE INDEX "prices_organisation_id_idx" ON "prices"("organisation_id");

-- CreateIndex
CREATE UNIQUE INDEX "prices_model_id_effective_from_key" ON "prices"("model_id", "effective_from");

-- CreateIndex
CREATE UNIQUE INDEX "fx_rates_organisation_id_base_quote_effective_from_key" ON "fx_rates"("organisation_id", "base", "quote", "effective_from");

-- CreateIndex
CREATE INDEX "budgets_organisation_id_idx" ON "budgets"("organisation_id");

-- CreateIndex
CREATE INDEX "budgets_consumer_id_idx" ON "budgets"("consumer_id");

-- CreateIndex
CREATE INDEX "budgets_api_key_id_idx" ON "budgets"("api_key_id");

-- CreateIndex
CREATE INDEX "grants_budget_id_period_id_idx" ON "grants"("budget_id", "period_id");

-- CreateIndex
CREATE INDEX "rate_limits_organisation_id_idx" ON "rate_limits"("organisation_id");

-- CreateIndex
CREATE UNIQUE INDEX "policies_organisation_id_name_key" ON "policies"("organisation_id", "name");

-- CreateIndex
CREATE UNIQUE INDEX "policy_versions_policy_id_number_key" ON "policy_versions"("policy_id", "number");

-- CreateIndex
CREATE INDEX "rollouts_policy_id_idx" ON "rollouts"("policy_id");

-- CreateIndex
CREATE INDEX "ledger_entries_organisation_id_reserved_at_idx" ON "ledger_entries"("organisation_id", "reserved_at");

-- CreateIndex
CREATE INDEX "ledger_entries_organisation_id_app_id_reserved_at_idx" ON "ledger_entries"("organisation_id", "app_id", "reserved_at");

-- CreateIndex
CREATE INDEX "ledger_entries_organisation_id_counter_sequence_idx" ON "ledger_entries"("organisation_id", "counter_sequence");

-- CreateIndex
CREATE INDEX "ledger_entries_organisation_id_booked_at_idx" ON "ledger_entries"("organisation_id", "booked_at");

-- CreateIndex
CREATE INDEX "refusals_organisation_id_refused_at_idx" ON "refusals"("organisation_id", "refused_at");

-- CreateIndex
CREATE INDEX "approvals_organisation_id_state_idx" ON "approvals"("organisation_id", "state");

-- CreateIndex
CREATE INDEX "alerts_organisation_id_created_at_idx" ON "alerts"("organisation_id", "created_at");

-- CreateIndex
CREATE UNIQUE INDEX "alerts_budget_id_period_id_threshold_kind_key" ON "alerts"("budget_id", "period_id", "threshold", "kind");

-- CreateIndex
CREATE INDEX "audit_log_organisation_id_created_at_idx" ON "audit_log"("organisation_id", "created_at");

-- CreateIndex
CREATE INDEX "audit_log_organisation_id_object_type_object_id_idx" ON "audit_log"("organisation_id", "object_type", "object_id");

-- CreateIndex
CREATE INDEX "snapshot_changes_organisation_id_id_idx" ON "snapshot_changes"("organisation_id", "id");

-- CreateIndex
CREATE INDEX "reconciliations_organisation_id_created_at_idx" ON "reconciliations"("organisation_id", "created_at");

-- AddForeignKey
ALTER TABLE "consumers" ADD CONSTRAINT "consumers_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "consumers"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "memberships" ADD CONSTRAINT "memberships_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "api_key_secrets" ADD CONSTRAINT "api_key_secrets_api_key_id_fkey" FOREIGN KEY ("api_key_id") REFERENCES "api_keys"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_model_id_fkey" FOREIGN KEY ("model_id") REFERENCES "models"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_provider_id_fkey" FOREIGN KEY ("provider_id") REFERENCES "providers"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "prices" ADD CONSTRAINT "prices_model_id_fkey" FOREIGN KEY ("model_id") REFERENCES "models"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "grants" ADD CONSTRAINT "grants_budget_id_fkey" FOREIGN KEY ("budget_id") REFERENCES "budgets"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "policy_versions" ADD CONSTRAINT "policy_versions_policy_id_fkey" FOREIGN KEY ("policy_id") REFERENCES "policies"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "rollouts" ADD CONSTRAINT "rollouts_policy_id_fkey" FOREIGN KEY ("policy_id") REFERENCES "policies"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Money journal: a partition a month (UTC) of reserved_at, and a default so that no row is ever refused for want of one.
CREATE TABLE "ledger_entries_default" PARTITION OF "ledger_entries" DEFAULT;

-- Insert-only. Rows of an organisation created as sample may be deleted, never changed.
CREATE FUNCTION "refuse_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND EXISTS (SELECT 1 FROM "organisations" WHERE "id" = OLD."organisation_id" AND "is_sample") THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION '% is insert-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END
$$;

CREATE FUNCTION "refuse_truncate"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is insert-only: TRUNCATE refused', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END
$$;

CREATE TRIGGER "ledger_entries_insert_only" BEFORE UPDATE OR DELETE ON "ledger_entries"
  FOR EACH ROW EXECUTE FUNCTION "refuse_change"();
CREATE TRIGGER "ledger_entries_no_truncate" BEFORE TRUNCATE ON "ledger_entries"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_truncate"();
CREATE TRIGGER "ledger_entries_no_truncate" BEFORE TRUNCATE ON "ledger_entries_default"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_truncate"();
CREATE TRIGGER "policy_versions_insert_only" BEFORE UPDATE OR DELETE ON "policy_versions"
  FOR EACH ROW EXECUTE FUNCTION "refuse_change"();
CREATE TRIGGER "policy_versions_no_truncate" BEFORE TRUNCATE ON "policy_versions"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_truncate"();

-- An organisation becomes sample at its creation or never: else the flag would be a way around the journal.
CREATE FUNCTION "refuse_sample_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'is_sample is set at creation only' USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER "organisations_sample_is_fixed" BEFORE UPDATE ON "organisations"
  FOR EACH ROW WHEN (OLD."is_sample" IS DISTINCT FROM NEW."is_sample") EXECUTE FUNCTION "refuse_sample_change"();

-- Makes the partitions of `months` months from the month of `first_day` on; returns how many were new. Idempotent and
-- safe when two run at once. Rows of such a month that already went to the default partition are moved: the default is
-- taken off, its rows re-inserted through the parent, and put back, all in the caller's transaction.
CREATE FUNCTION "ensure_ledger_partitions"(first_day date, months integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  month_start date := date_trunc('month', first_day)::date;
  month_end date;
  lower_bound timestamptz;
  upper_bound timestamptz;
  partition_name text;
  created integer := 0;
  strays boolean;
BEGIN
  IF months < 1 OR months > 120 THEN
    RAISE EXCEPTION 'months must be 1 to 120';
  END IF;
  PERFORM pg_advisory_xact_lock(7270932, 1);
  FOR i IN 1..months LOOP
    month_end := (month_start + interval '1 month')::date;
    partition_name := 'ledger_entries_' || to_char(month_start, 'YYYY_MM');
    IF to_regclass(quote_ident(partition_name)) IS NULL THEN
      lower_bound := month_start::timestamp AT TIME ZONE 'UTC';
      upper_bound := month_end::timestamp AT TIME ZONE 'UTC';
      -- Locked before the look, so that no row slips into the default in between.
      LOCK TABLE "ledger_entries" IN ACCESS EXCLUSIVE MODE;
      EXECUTE 'SELECT EXISTS (SELECT 1 FROM "ledger_entries_default" WHERE "reserved_at" >= $1 AND "reserved_at" < $2)'
        INTO strays USING lower_bound, upper_bound;
      IF strays THEN
        ALTER TABLE "ledger_entries" DETACH PARTITION "ledger_entries_default";
      END IF;
      EXECUTE format('CREATE TABLE %I PARTITION OF "ledger_entries" FOR VALUES FROM (%L) TO (%L)',
        partition_name, lower_bound, upper_bound);
      EXECUTE format('CREATE TRIGGER "ledger_entries_no_truncate" BEFORE TRUNCATE ON %I
        FOR EACH STATEMENT EXECUTE FUNCTION "refuse_truncate"()', partition_name);
      IF strays THEN
        EXECUTE 'INSERT INTO "ledger_entries" SELECT * FROM "ledger_entries_default" WHERE "reserved_at" >= $1 AND "reserved_at" < $2'
          USING lower_bound, upper_bound;
        EXECUTE 'DELETE FROM "ledger_entries_default" WHERE "reserved_at" >= $1 AND "reserved_at" < $2'
          USING lower_bound, upper_bound;
        ALTER TABLE "ledger_entries" ATTACH PARTITION "ledger_entries_default" DEFAULT;
      END IF;
      created := created + 1;
    END IF;
    month_start := month_end;
  END LOOP;
  RETURN created;
END
$$;

SELECT "ensure_ledger_partitions"((now() AT TIME ZONE 'UTC' - interval '3 months')::date, 7);

-- Rules a bug in the code above the database must not be able to break.
ALTER TABLE "organisations"
  ADD CONSTRAINT "organisations_id_shape" CHECK ("id" ~ '^[a-z0-9]{4,32}$'),
  ADD CONSTRAINT "organisations_currency_shape" CHECK ("currency" ~ '^[A-Z]{3}$'),
  ADD CONSTRAINT "organisations_fiscal_month" CHECK ("fiscal_year_start_month" BETWEEN 1 AND 12),
  ADD CONSTRAINT "organisations_week_start" CHECK ("week_starts_on" IN (1, 7)),
  ADD CONSTRAINT "organisations_refusal_status" CHECK ("budget_refusal_status" IN (402, 429)),
  ADD CONSTRAINT "organisations_epochs" CHECK ("snapshot_epoch" >= 0 AND "published_epoch" BETWEEN 0 AND "snapshot_epoch");
ALTER TABLE "consumers"
  ADD CONSTRAINT "consumers_root" CHECK (("kind" = 'organization') = ("parent_id" IS NULL)
    AND ("kind" <> 'organization' OR "id" = "organisation_id"));
ALTER TABLE "budgets"
  ADD CONSTRAINT "budgets_one_node" CHECK (num_nonnulls("consumer_id", "api_key_id") = 1),
  ADD CONSTRAINT "budgets_amounts" CHECK ("limit_amount" >= 0 AND "overflow_amount" >= 0
    AND "limit_amount" + "overflow_amount"::numeric <= 9223372036854775807),
  ADD CONSTRAINT "budgets_opening" CHECK ("opening_amount" = 0 OR "opening_period_id" IS NOT NULL),
  ADD CONSTRAINT "budgets_limit_version" CHECK ("limit_version" >= 1);
ALTER TABLE "grants"
  ADD CONSTRAINT "grants_amount" CHECK ("amount" > 0),
  ADD CONSTRAINT "grants_span" CHECK ("starts_at" < "ends_at"),
  ADD CONSTRAINT "grants_period_shape" CHECK ("period_id" ~ '^([DW][0-9]{4}-[0-9]{2}-[0-9]{2}|[MQY][0-9]{4}-[0-9]{2})$');
ALTER TABLE "rate_limits"
  ADD CONSTRAINT "rate_limits_one_node" CHECK (num_nonnulls("consumer_id", "api_key_id") = 1),
  ADD CONSTRAINT "rate_limits_values" CHECK (
    COALESCE("requests_per_minute", 1) > 0 AND COALESCE("burst_requests", 1) > 0
    AND COALESCE("tokens_per_minute", 1) > 0 AND COALESCE("concurrency", 1) > 0);
ALTER TABLE "rollouts"
  ADD CONSTRAINT "rollouts_percent" CHECK ("percent" BETWEEN 0 AND 100);
-- One exposure of a policy at a time.
CREATE UNIQUE INDEX "rollouts_one_running" ON "rollouts" ("policy_id") WHERE "state" IN ('running', 'paused');
ALTER TABLE "prices"
  ADD CONSTRAINT "prices_currency_shape" CHECK ("currency" ~ '^[A-Z]{3}$'),
  ADD CONSTRAINT "prices_span" CHECK ("effective_to" IS NULL OR "effective_from" < "effective_to");
ALTER TABLE "fx_rates"
  ADD CONSTRAINT "fx_rates_pair" CHECK ("base" ~ '^[A-Z]{3}$' AND "quote" ~ '^[A-Z]{3}$' AND "base" <> "quote"),
  ADD CONSTRAINT "fx_rates_positive" CHECK ("rate" ~ '^[0-9]+(\.[0-9]+)?$' AND "rate" ~ '[1-9]');
ALTER TABLE "approvals"
  ADD CONSTRAINT "approvals_amount" CHECK ("amount" > 0),
  ADD CONSTRAINT "approvals_decided" CHECK (("state" IN ('approved', 'declined')) = ("decided_at" IS NOT NULL) OR "state" IN ('withdrawn', 'expired'));
ALTER TABLE "ledger_entries"
  ADD CONSTRAINT "ledger_entries_sequence" CHECK ("sequence" >= 0 AND ("kind" <> 'usage' OR "sequence" = 0)),
  ADD CONSTRAINT "ledger_entries_usage_amounts" CHECK ("kind" <> 'usage' OR ("amount" >= 0 AND "price_amount" >= 0));
