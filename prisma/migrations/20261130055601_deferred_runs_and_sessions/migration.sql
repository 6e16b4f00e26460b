-- AlterTable: the call that a deferred call was run as, so that each leads to the other.
ALTER TABLE "deferred_calls" ADD COLUMN     "run_request_id" TEXT;

-- CreateIndex
CREATE INDEX "deferred_calls_run_idx" ON "deferred_calls" ("organisation_id", "run_request_id") WHERE "run_request_id" IS NOT NULL;

-- CreateIndex: calls that name a session are few, and are looked for by it.
CREATE INDEX "ledger_entries_session_idx" ON "ledger_entries" ("organisation_id", ("explanation"->>'session'), "reserved_at") WHERE "explanation" ? 'session';

-- CreateIndex
CREATE INDEX "refusals_session_idx" ON "refusals" ("organisation_id", ("explanation"->>'session'), "refused_at") WHERE "explanation" ? 'session';
