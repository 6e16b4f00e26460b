/**
 * The two sums kept beside the ledger, in the transaction that inserts its rows. Both are plain folds over every row of
 * the ledger, whatever its kind: a correction carries differences, so adding it is all there is to do.
 */

/** Calls of one row: of a batch its lines. A correction is no further call, unless it says so. */
const REQUESTS = "COALESCE((usage->>'requests')::bigint, CASE WHEN kind = 'usage' THEN 1 ELSE 0 END)";

/** Parts of a statement that has a CTE `inserted` of ledger rows. Sorted, so that two writers lock rows in one order. */
export const USAGE_ROLLUP_SQL = `
rolled AS (
  INSERT INTO usage_rollups AS u (
    organisation_id, bucket_start, app_id, api_key_id, model_served, provider_id, environment, traffic_class, price_currency,
    requests, input_tokens, cache_read_tokens, output_tokens, price_amount, amount, saved_amount, downgrade_requests, error_requests)
  SELECT organisation_id, date_bin('15 minutes', reserved_at, 'epoch'::timestamptz), COALESCE(app_id, ''), COALESCE(api_key_id, ''), model_served,
    COALESCE(provider_id, ''), environment, traffic_class, price_currency,
    sum(${REQUESTS}),
    COALESCE(sum((usage->>'inputTokens')::bigint), 0), COALESCE(sum((usage->>'cacheReadTokens')::bigint), 0),
    COALESCE(sum((usage->>'outputTokens')::bigint), 0), sum(price_amount), sum(amount), sum(saved_amount),
    COALESCE(sum(${REQUESTS}) FILTER (WHERE kind = 'usage' AND decision = 'downgrade'), 0),
    COALESCE(sum(${REQUESTS}) FILTER (WHERE kind = 'usage' AND outcome IN ('upstream_error', 'unknown', 'expired')), 0)
  FROM inserted GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9
  ON CONFLICT (organisation_id, bucket_start, app_id, api_key_id, model_served, provider_id, environment, traffic_class, price_currency)
  DO UPDATE SET requests = u.requests + EXCLUDED.requests, input_tokens = u.input_tokens + EXCLUDED.input_tokens,
    cache_read_tokens = u.cache_read_tokens + EXCLUDED.cache_read_tokens, output_tokens = u.output_tokens + EXCLUDED.output_tokens,
    price_amount = u.price_amount + EXCLUDED.price_amount, amount = u.amount + EXCLUDED.amount,
    saved_amount = u.saved_amount + EXCLUDED.saved_amount, downgrade_requests = u.downgrade_requests + EXCLUDED.downgrade_requests,
    error_requests = u.error_requests + EXCLUDED.error_requests
)`;

export const BUDGET_ROLLUP_SQL = `
budgeted AS (
  INSERT INTO budget_rollups AS b (organisation_id, budget_id, period_id, meter, amount, updated_at)
  SELECT i.organisation_id, line.b, line.p, min(line.m)::"Meter", sum(line.a), now()
  FROM inserted i CROSS JOIN LATERAL jsonb_to_recordset(i.lines) AS line(b text, p text, m text, a bigint)
  GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
  ON CONFLICT (organisation_id, budget_id, period_id)
  DO UPDATE SET amount = b.amount + EXCLUDED.amount, updated_at = EXCLUDED.updated_at
  RETURNING budget_id, period_id, amount
)`;
