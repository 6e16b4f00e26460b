// One story from end to end, as finance, a developer and an application live it: a small budget, a key, calls until the
// ladder acts, a refusal, a raise, and the books in the console. All amounts are chosen so that each rung is met exactly.
import type { Page } from "@playwright/test";
import { RateLimitError } from "openai";
import { e2eEnvironment } from "@/lib/testing/e2e-environment";
import type { Application, Served } from "./application";
import { applicationOf, BOUND_TOKENS, LARGE, SMALL } from "./application";
import { expect, test } from "./fixtures";

/** The department's month in nanos: USD 0.03. */
const LIMIT = 30_000_000n;

test("a budget is set, spent down the ladder, refused at its end, raised, and every step is in the books", async ({
  page: financePage,
  browser,
  company,
  signIn,
}) => {
  // Three people's work in one story: on a machine busy with other things it may take more than a minute.
  test.setTimeout(180_000);
  const { baseUrl } = e2eEnvironment();
  const { person } = await company({ timeZone: zoneAtNoon(Date.now()) });

  await signIn(await person("finance"), financePage);
  await setBudget(financePage, "0.03");

  const developer = await browser.newContext();
  const developerPage = await developer.newPage();
  await signIn(await person("developer"), developerPage);
  const secret = await makeKey(developerPage);

  const application = applicationOf(`${baseUrl}/api/v1`, secret);
  const served = await spendDownTheLadder(application);
  const refusedId = await refusedOnce(application);

  await raiseBudget(financePage, "0.10");
  // The same port, without /api: what most clients are configured with.
  const later = applicationOf(`${baseUrl}/v1`, secret);
  const afterRaise = await later.chat({ prompt: 200, completion: 50 });
  expect(afterRaise).toMatchObject({ model: LARGE, decision: "pass", rung: "0", cost: "0.001" });
  expect(later.sent()).toBe(1);

  await overviewShows(financePage);
  await requestsShow(developerPage, [...served, afterRaise], refusedId);
  await developer.close();
});

/** Half a day away from every midnight, so that "today" and the month stay what they are while the story runs. */
function zoneAtNoon(nowMs: number): string {
  const hoursEast = 12 - new Date(nowMs).getUTCHours();
  // POSIX signs: Etc/GMT-3 is three hours east of Greenwich.
  return `Etc/GMT${hoursEast > 0 ? "-" : "+"}${String(Math.abs(hoursEast))}`;
}

async function setBudget(page: Page, amount: string): Promise<void> {
  await page.getByRole("link", { name: "Budgets", exact: true }).first().click();
  await page.getByRole("button", { name: "Add budget to department" }).click();
  const drawer = page.getByRole("dialog");
  await drawer.getByLabel(/^Limit per period/).fill(amount);
  await expect(drawer.getByLabel("Ladder")).toHaveValue("monthly-department");
  await drawer.getByRole("button", { name: "Create budget" }).click();
  await expect(drawer).toBeHidden();
  await expect(departmentRow(page)).toContainText(amount);
}

async function raiseBudget(page: Page, amount: string): Promise<void> {
  const row = departmentRow(page);
  await expect(row).toContainText("Exhausted");
  await row.getByRole("button", { name: /^Edit budget/ }).click();
  const drawer = page.getByRole("dialog");
  await drawer.getByLabel(/^Limit per period/).fill(amount);
  await expect(drawer.getByTestId("budget-preview")).toContainText("30%");
  await drawer.getByRole("button", { name: "Save" }).click();
  // The drawer closes when the server says that the limit is saved; the very next call relies on it.
  await expect(drawer).toBeHidden();
}

function departmentRow(page: Page): ReturnType<Page["locator"]> {
  return page.locator('tbody[data-node="department"] tr').first();
}

/** Makes a key on the keys page; returns the secret, which that page shows this one time. */
async function makeKey(page: Page): Promise<string> {
  await page.getByRole("link", { name: "API keys", exact: true }).first().click();
  await page.getByRole("button", { name: "Create key" }).click();
  const drawer = page.getByRole("dialog");
  await drawer.getByLabel("Name").fill("story service");
  await drawer.getByRole("button", { name: "Create key" }).click();
  const secret = await page.getByTestId("api-key-secret").inputValue();
  expect(secret).toMatch(/^sw_live_/);
  await page.getByLabel("I have stored it in a safe place").check();
  await page.getByRole("button", { name: "Done" }).click();
  await expect(page.locator('tr[data-key="story service"]')).toContainText(secret.slice(-4));
  await page.reload();
  await expect(page.locator('tr[data-key="story service"]')).toBeVisible();
  expect(await page.content()).not.toContain(secret);
  return secret;
}

/** Nothing in flight, and exactly this much settled on the department. */
async function settledAt(application: Application, used: bigint): Promise<void> {
  await expect
    .poll(() => application.standing("department"))
    .toEqual({ limit: String(LIMIT), used: String(used), held: "0" });
}

/** 0 % to 75 % to 90 % to 100 %, each to the nano. */
async function spendDownTheLadder(application: Application): Promise<readonly Served[]> {
  const first = await application.chat({ prompt: 200, completion: 2_200 });
  expect(first).toMatchObject({ model: LARGE, decision: "pass", rung: "0", cost: "0.0225" });
  await settledAt(application, (LIMIT * 75n) / 100n);

  const warned = await application.chat({ prompt: 200, completion: 400 });
  expect(warned).toMatchObject({ model: LARGE, decision: "pass", rung: "75", cost: "0.0045" });
  await settledAt(application, (LIMIT * 90n) / 100n);

  // Costs exactly what is held for it, so its hold fits what is left and its settlement leaves nothing.
  const downgraded = await application.chat({ prompt: BOUND_TOKENS, completion: 4_900 });
  expect(downgraded).toMatchObject({ model: SMALL, decision: "downgrade", rung: "90", cost: "0.003" });
  await settledAt(application, LIMIT);
  return [first, warned, downgraded];
}

/** The refusal, after which the client must not have tried again. Returns its request id. */
async function refusedOnce(application: Application): Promise<string> {
  const before = application.sent();
  const error: unknown = await application.chat({ prompt: 200, completion: 50 }).catch((thrown: unknown) => thrown);
  expect(application.sent() - before).toBe(1);
  expect(error).toBeInstanceOf(RateLimitError);
  expect(error).toMatchObject({
    status: 429,
    code: "DEPARTMENT_BUDGET_EXHAUSTED",
    error: { budget: { scope: "department", limit: String(LIMIT), used: String(LIMIT), held: "0", currency: "USD" } },
  });
  return error instanceof RateLimitError ? (error.requestID ?? "") : "";
}

/** Within seconds and without a reload: the page asks again by itself. */
async function overviewShows(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Overview", exact: true }).first().click();
  await expect(page.getByTestId("spend-today").getByTitle("0.031 USD")).toBeVisible();
  await expect(page.getByTestId("spend-month").getByTitle("0.031 USD")).toBeVisible();
  await expect(page.getByTestId("held").getByTitle("0 USD")).toBeVisible();
  await expect(page.getByTestId("saved").getByTitle("0.047 USD")).toBeVisible();
  const models = page.getByRole("region", { name: "Spend by model" });
  // The exact amount is the title of a shown one.
  await expect(models.getByRole("row", { name: LARGE }).getByTitle("0.028", { exact: true })).toBeVisible();
  await expect(models.getByRole("row", { name: SMALL }).getByTitle("0.003", { exact: true })).toBeVisible();
  await expect(models.getByRole("row", { name: SMALL }).getByTitle("0.047", { exact: true })).toBeVisible();
  const refusals = page.getByRole("region", { name: "Last refusals" });
  await expect(refusals.getByRole("listitem")).toHaveCount(1);
  await expect(refusals.getByRole("listitem")).toContainText("Budget used up: department");
}

async function requestsShow(page: Page, served: readonly Served[], refusedId: string): Promise<void> {
  await page.getByRole("link", { name: "Requests", exact: true }).first().click();
  const rowOf = (requestId: string) =>
    page.getByRole("row").filter({ has: page.getByTitle(requestId, { exact: true }) });
  for (const one of served) {
    const row = rowOf(one.requestId);
    await expect(row).toContainText(one.model);
    await expect(row).toContainText(one.decision === "pass" ? "Passed" : "Downgraded");
    await expect(row.getByTitle(one.cost, { exact: true })).toBeVisible();
  }
  await expect(rowOf(served[2]?.requestId ?? "")).toContainText(`asked for ${LARGE}`);
  await expect(rowOf(refusedId)).toContainText("Budget used up: department");
  await expect(page.locator("tbody").getByRole("row")).toHaveCount(served.length + 1);
}
