// Prices carry money: a book is pasted, its mistakes are named, a slipped decimal point must be confirmed, the next call costs
// what the new book says, and one tap brings the old price back.
import type { Page } from "@playwright/test";
import { e2eEnvironment } from "@/lib/testing/e2e-environment";
import { applicationOf } from "./application";
import { expect, test } from "./fixtures";

/** A hundred thousand times dearer output than today's: USD 10 a million becomes a million. */
const BOOK = (unit: string): string => `model,currency,unit,effectiveFrom,inputPerToken,outputPerToken
sandbox-large,USD,${unit},2099-01-01,5,20`;

async function look(page: Page, text: string): Promise<void> {
  await page.getByLabel("Text of the file").fill(text);
  await page.getByRole("button", { name: "Check the file" }).click();
}

test("a price book is looked at, confirmed, applied, charged and taken back", async ({ page, company, signIn }) => {
  test.setTimeout(120_000);
  const { person, apiKey } = await company({ budgets: { organisation: 10n ** 15n } });
  await signIn(await person("finance"));
  await page.getByRole("link", { name: "Models and prices" }).click();
  const row = page.locator('tr[data-model="sandbox-large"]');
  await expect(row).toContainText("2.5");
  await page.getByRole("link", { name: "Import", exact: true }).click();

  await page.getByLabel("Prices (CSV)").check();
  await page.getByLabel("Where it is from").fill("contract 7");
  await look(page, BOOK("millions").replace("2099-01-01", "tomorrow"));
  const problems = page.getByTestId("import-problems").getByRole("listitem");
  await expect(problems).toHaveText([/Line 2.*unit.*million_tokens/, /Line 2.*effectiveFrom.*moment/]);

  // Per token by mistake: twice the price of a token, times a million.
  await look(page, BOOK("token"));
  const apply = page.getByRole("button", { name: /^Apply 1 change/ });
  await expect(apply).toBeDisabled();
  await expect(page.getByTestId("import-preview")).toContainText("more than 100 times the last");
  await page.getByRole("button", { name: "Back" }).click();

  await page.getByLabel("Public price map (JSON)").check();
  const map = { "sandbox-large": { input_cost_per_token: 5e-6, output_cost_per_token: 2e-5, litellm_provider: "x" } };
  await look(page, JSON.stringify(map));
  const preview = page.getByTestId("import-preview");
  await expect(preview.locator('[data-change="sandbox-large"]')).toContainText("× 2");
  await apply.click();
  await expect(page).toHaveURL(/\/prices$/);
  await expect(row).toContainText("contract 7");
  await expect(row).toContainText("20");

  const application = applicationOf(`${e2eEnvironment().baseUrl}/api/v1`, apiKey.secret);
  const costOf = async (): Promise<string> => (await application.chat({ prompt: 200, completion: 50 })).cost;
  await expect.poll(costOf).toBe("0.002");

  const entry = page.locator('[data-import="contract 7"]');
  await entry.getByRole("button", { name: "Take back" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Take back" }).click();
  await expect(entry).toContainText("Taken back");
  await expect(row).toContainText("2.5");
  await expect.poll(costOf).toBe("0.001");
});

test("an account's secret goes in and never comes out, and a forbidden address says why", async ({
  page,
  company,
  signIn,
}) => {
  const { person } = await company();
  await signIn(await person("engineer"));
  await page.goto("/providers");
  await page.getByRole("button", { name: "Add provider" }).click();
  const drawer = page.getByRole("dialog");
  await drawer.getByLabel("Name").fill("Vendor");
  await drawer.getByLabel("Secret").fill("sk-a-secret-that-nobody-sees-again");
  await drawer.getByLabel("Address of the API").fill("http://169.254.169.254/v1");
  await drawer.getByRole("button", { name: "Save" }).click();
  await expect(drawer.getByLabel("Address of the API")).toBeFocused();
  await expect(drawer).toContainText("metadata service of a cloud");
  await expect(drawer.getByLabel("Secret")).toHaveValue("sk-a-secret-that-nobody-sees-again");
  await drawer.getByLabel("Address of the API").fill(`${e2eEnvironment().sandboxUrl}/v1`);
  await drawer.getByRole("button", { name: "Save" }).click();
  await expect(drawer).toBeHidden();
  const card = page.locator('[data-provider="Vendor"]');
  await expect(card).toContainText("Secret …gain");
  await page.reload();
  expect(await page.content()).not.toContain("sk-a-secret");
  await card.getByRole("button", { name: "Test connection" }).click();
  await expect(card.getByRole("status")).not.toBeEmpty();
});
