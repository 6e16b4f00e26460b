import { expect, test } from "./fixtures";

test("a page asks for sign-in first and comes back to where the person wanted to go", async ({ page, company }) => {
  const { person } = await company();
  const finance = await person("finance");
  await page.goto("/requests?decision=refused");
  await expect(page).toHaveURL(/\/sign-in\?next=/);
  await page.locator("input[name=email]").fill(finance.email);
  await page.locator("input[name=password]").fill("not the password");
  await page.getByRole("button", { name: "Sign in" }).click();
  const alert = page.getByRole("alert").filter({ hasText: "That did not work" });
  await expect(alert).toBeFocused();
  await page.locator("input[name=password]").fill(finance.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page).toHaveURL(/\/requests\?decision=refused$/);
});

test("a limit is changed, shown at once, and taken back", async ({ page, company, signIn }) => {
  const { person } = await company({ budgets: { organisation: 100_000_000_000n, department: 50_000_000_000n } });
  await signIn(await person("finance"));
  await page.goto("/budgets");
  const row = page.locator('tbody[data-node="department"] tr').first();
  await expect(row).toContainText("50.00");
  await row.getByRole("button", { name: /^Edit budget/ }).click();
  const drawer = page.getByRole("dialog");
  await drawer.getByLabel(/^Limit per period/).fill("1,250.50");
  await expect(drawer.getByTestId("budget-preview")).toContainText("1,250.50 would be left");
  await drawer.getByRole("button", { name: "Save" }).click();
  await expect(drawer).toBeHidden();
  await expect(row).toContainText("1,250.50");
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(row).toContainText("50.00");
  await row.getByRole("button", { name: /^Actions for/ }).click();
  await page.getByRole("menuitem", { name: "History" }).click();
  await expect(page.getByRole("dialog").getByRole("listitem")).toHaveCount(3);
});

test("a limit below what is spent is warned about before it is saved", async ({ page, company, signIn, control }) => {
  const made = await company({ budgets: { organisation: 100_000_000_000n } });
  const budget = made.budgets.organisation;
  expect(budget).toBeDefined();
  const month = new Date().toISOString().slice(0, 7);
  await control.store.redis.hset(`sw:{${made.organisationId}}:c:${budget?.id ?? ""}:M${month}`, {
    s: "60000000000",
    h: "0",
  });
  await signIn(await made.person("finance"));
  await page.goto("/budgets");
  await page.getByRole("button", { name: /^Edit budget/ }).click();
  await page.getByLabel(/^Limit per period/).fill("40");
  await expect(page.getByTestId("budget-preview")).toContainText("already below what is spent and held (60.00)");
});

test("a mistake in a form is named at its field and nothing typed is lost", async ({ page, company, signIn }) => {
  const { person } = await company();
  await signIn(await person("owner"));
  await page.goto("/budgets");
  await page.getByRole("button", { name: /^Edit budget/ }).click();
  const amount = page.getByLabel(/^Limit per period/);
  await amount.fill("12k");
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await expect(amount).toHaveAttribute("aria-invalid", "true");
  await expect(amount).toHaveValue("12k");
});

test("a key is shown once, and revoking it asks for its name", async ({ page, company, signIn }) => {
  const { person } = await company();
  await signIn(await person("developer"));
  await page.goto("/keys");
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByLabel("Name", { exact: true }).fill("checkout service");
  await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
  const field = page.getByTestId("api-key-secret");
  await expect(field).toHaveValue(/^sw_live_/);
  const secret = await field.inputValue();
  await page.keyboard.press("Escape");
  await expect(field).toBeVisible();
  await page.getByLabel("I have stored it in a safe place").check();
  await page.getByRole("button", { name: "Done" }).click();
  await expect(field).toBeHidden();
  const row = page.locator('tr[data-key="checkout service"]');
  await expect(row).toContainText(secret.slice(-4));
  expect(await page.content()).not.toContain(secret);
  await row.getByRole("button", { name: /^Actions for/ }).click();
  await page.getByRole("menuitem", { name: "Revoke" }).click();
  const revoke = page.getByRole("button", { name: "Revoke key" });
  await expect(revoke).toBeDisabled();
  await page.getByLabel("Type checkout service to confirm").fill("checkout service");
  await revoke.click();
  await expect(row).toContainText("Revoked");
});

test("what a role may not do is not offered, and is refused where it is asked for", async ({
  page,
  company,
  signIn,
}) => {
  const { person, budgets } = await company();
  await signIn(await person("auditor"));
  await page.goto("/budgets");
  await expect(page.getByRole("button", { name: /^Actions for/ })).toBeVisible();
  await expect(page.getByRole("button", { name: /^Edit budget/ })).toHaveCount(0);
  const path = `/api/console/budgets/${budgets.organisation?.id ?? ""}`;
  const status = await page.evaluate(async (url) => {
    const response = await fetch(url, {
      method: "PATCH",
      headers: { "content-type": "application/json", "idempotency-key": "k1" },
      body: JSON.stringify({ expectedVersion: "1", limitAmount: "1" }),
    });
    return response.status;
  }, path);
  expect(status).toBe(404);
});

test("a write from another site is refused", async ({ page, company, signIn }) => {
  const { person, budgets } = await company();
  await signIn(await person("finance"));
  const response = await page.request.patch(`/api/console/budgets/${budgets.organisation?.id ?? ""}`, {
    headers: { origin: "https://evil.example", "idempotency-key": "k1" },
    data: { expectedVersion: "1", limitAmount: "1" },
  });
  expect(response.status()).toBe(404);
});

test("a person without an organisation is told whom to ask, and can sign out", async ({ page, company, control }) => {
  const { person } = await company();
  const stranger = await person("developer");
  await control.db.prisma.membership.deleteMany({ where: { user: { email: stranger.email } } });
  await page.goto("/keys");
  await page.locator("input[name=email]").fill(stranger.email);
  await page.locator("input[name=password]").fill(stranger.password);
  await page.locator("button[type=submit]").click();
  await expect(page).toHaveURL(/\/welcome$/);
  await expect(page.getByText("Ask an owner of your organisation")).toBeVisible();
  const status = await page.evaluate(async () => {
    const body = { name: "Mine", currency: "USD", timeZone: "UTC", fiscalYearStartMonth: 1, locale: "en" };
    const response = await fetch("/api/console/organisation", {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": "k1" },
      body: JSON.stringify({ ...body, appName: "App", withSandbox: false }),
    });
    return response.status;
  });
  expect(status).toBe(409);
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page).toHaveURL(/\/sign-in$/);
});

test("language and theme are chosen and kept", async ({ page, company, signIn }) => {
  const { person } = await company();
  await signIn(await person("finance"));
  await page.getByRole("button", { name: "Language" }).click();
  await page.getByRole("menuitemradio", { name: "简体中文" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "总览" })).toBeVisible();
  await expect(page.locator("html")).toHaveAttribute("lang", "zh-CN");
  await page.getByRole("button", { name: "外观" }).click();
  await page.getByRole("menuitemradio", { name: "深色" }).click();
  await expect(page.locator("html")).toHaveClass(/dark/);
  await page.reload();
  await expect(page.locator("html")).toHaveClass(/dark/);
  await expect(page.locator("html")).toHaveAttribute("lang", "zh-CN");
});

test("every page fits a phone without scrolling sideways, in both languages", async ({
  page,
  company,
  signIn,
  context,
}) => {
  const { person } = await company({ budgets: { organisation: 10n ** 15n, department: 10n ** 14n, team: 10n ** 13n } });
  await page.setViewportSize({ width: 390, height: 844 });
  await signIn(await person("owner"));
  for (const locale of ["en", "zh-CN"]) {
    await context.addCookies([{ name: "spillway-locale", value: locale, url: page.url() }]);
    const money = ["/overview", "/budgets", "/keys", "/requests"];
    for (const path of [...money, "/policies", "/providers", "/prices", "/prices/import", "/token-issuers"]) {
      await page.goto(path);
      await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
      const excess = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      expect(excess, `${path} in ${locale}`).toBeLessThanOrEqual(0);
    }
  }
});

test("the keyboard reaches the content first", async ({ page, company, signIn }) => {
  const { person } = await company();
  await signIn(await person("finance"));
  await page.keyboard.press("Tab");
  const skip = page.getByRole("link", { name: "Skip to content" });
  await expect(skip).toBeFocused();
  await expect(skip).toBeInViewport();
  await page.keyboard.press("Enter");
  await expect(page.locator("#main")).toBeFocused();
});
