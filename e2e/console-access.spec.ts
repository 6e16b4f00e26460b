// The console for those who use a keyboard, a screen reader or a thumb; and the ways to find and to keep what it shows.
import { readFile } from "node:fs/promises";
import type { Page } from "@playwright/test";
import { expect, test } from "./fixtures";

const PAGES = [
  ...["/overview", "/budgets", "/keys", "/requests", "/policies", "/providers", "/prices", "/prices/import"],
  ...["/token-issuers", "/deferred", "/webhooks", "/no-such-page"],
];

/** What assistive technology or a thumb would stumble over, one sentence each. */
async function faultsOf(page: Page, smallest: number): Promise<readonly string[]> {
  return page.evaluate((least) => {
    const faults: string[] = [];
    const isShown = (element: Element): boolean => {
      const { width, height } = element.getBoundingClientRect();
      return width > 1 && height > 1 && getComputedStyle(element).visibility !== "hidden";
    };
    const nameOf = (element: Element): string => {
      const labels = element instanceof HTMLInputElement ? [...(element.labels ?? [])] : [];
      const own = element.getAttribute("aria-label") ?? element.textContent;
      return (own.trim() === "" ? labels.map((label) => label.textContent).join(" ") : own).trim();
    };
    if (document.querySelectorAll("h1").length !== 1) faults.push("not one h1");
    if (document.querySelectorAll("main").length !== 1) faults.push("not one main");
    const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
    for (const id of new Set(ids.filter((one, index) => ids.indexOf(one) !== index))) faults.push(`id twice: ${id}`);
    for (const element of document.querySelectorAll(
      "a[href], button, summary, [role=button], input, select, textarea",
    )) {
      if (!isShown(element)) continue;
      const isField = element.matches("input, select, textarea");
      const hasLabel = (element as HTMLInputElement).labels?.length ?? 0;
      if (nameOf(element) === "" && (!isField || hasLabel === 0))
        faults.push(`no name: ${element.outerHTML.slice(0, 80)}`);
      // Links inside sentences and the square of a labelled choice are exempt, as in WCAG 2.5.8.
      const isInText = element.matches("a") && getComputedStyle(element).display === "inline";
      const stretched = getComputedStyle(element, "::after").position === "absolute";
      if (isInText || stretched || element.matches("[type=checkbox], [type=radio]")) continue;
      if (element.getBoundingClientRect().height < least - 0.5) faults.push(`small: ${nameOf(element).slice(0, 40)}`);
    }
    for (const image of document.querySelectorAll("svg")) {
      if (image.closest("[aria-hidden=true], button, a, [role], figure") === null)
        faults.push("a picture without words");
    }
    return faults;
  }, smallest);
}

test("every page has one heading, names for all controls and targets that a thumb hits", async ({
  page,
  company,
  signIn,
}) => {
  const { person } = await company({ budgets: { organisation: 10n ** 12n, department: 10n ** 11n } });
  await signIn(await person("owner"));
  const found: string[] = [];
  for (const path of PAGES) {
    await page.setViewportSize({ width: 1280, height: 844 });
    await page.goto(path);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    found.push(...(await faultsOf(page, 24)).map((fault) => `${path}: ${fault}`));
    await page.setViewportSize({ width: 390, height: 844 });
    found.push(...(await faultsOf(page, 40)).map((fault) => `${path} on a phone: ${fault}`));
  }
  expect(found).toEqual([]);
});

test("by keyboard alone a person signs in, makes a budget and makes a key", async ({ page, company }) => {
  const made = await company();
  const owner = await made.person("owner");
  await page.goto("/sign-in");
  await page.getByLabel("Mail address").focus();
  await page.keyboard.type(owner.email);
  await page.keyboard.press("Tab");
  await page.keyboard.type(owner.password);
  await page.keyboard.press("Enter");
  await page.waitForURL("**/overview");

  await command(page, "budgets");
  await page.waitForURL("**/budgets");
  const add = page.getByRole("button", { name: /^Add budget/ }).first();
  await tabTo(page, add);
  await page.keyboard.press("Enter");
  const drawer = page.getByRole("dialog");
  await expect(drawer.getByLabel("Name", { exact: true })).toBeFocused();
  await tabTo(page, drawer.getByLabel(/^Limit per period/));
  await page.keyboard.type("25");
  await page.keyboard.press("Enter");
  await expect(drawer).toBeHidden();
  await expect(page.getByText("25.00").first()).toBeVisible();

  await command(page, "create an api");
  await tabTo(page, drawer.getByLabel("Name", { exact: true }));
  await page.keyboard.type("by keyboard");
  await page.keyboard.press("Enter");
  await expect(page.getByTestId("api-key-secret")).toBeFocused();
  await tabTo(page, page.getByLabel("I have stored it in a safe place"));
  await page.keyboard.press("Space");
  await tabTo(page, page.getByRole("button", { name: "Done" }));
  await page.keyboard.press("Enter");
  await expect(page.locator('tr[data-key="by keyboard"]')).toBeVisible();
});

async function command(page: Page, text: string): Promise<void> {
  await page.keyboard.press("Control+k");
  await expect(page.getByRole("combobox", { name: /^Page, key/ })).toBeFocused();
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
}

/** As many steps as it takes; each place on the way must be seen, not hidden below a bar. */
async function tabTo(page: Page, target: ReturnType<Page["locator"]>): Promise<void> {
  await expect(target).toBeVisible();
  for (let step = 0; step < 80; step += 1) {
    if (await target.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press("Tab");
    const isCovered = await page.evaluate(() => {
      const element = document.activeElement;
      if (element === null || element === document.body) return false;
      const { left, top, width, height } = element.getBoundingClientRect();
      // Marks at the ends of a dialog that send the focus back into it.
      if (width <= 1 || height <= 1) return false;
      const seen = document.elementFromPoint(left + width / 2, top + height / 2);
      return seen !== null && !element.contains(seen) && !seen.contains(element);
    });
    expect(isCovered, "the focus is hidden").toBe(false);
  }
  throw new Error("the keyboard does not reach it");
}

test("what was typed is not lost by a slip, and filters come back with the address", async ({
  page,
  company,
  signIn,
}) => {
  const { person } = await company();
  await signIn(await person("owner"));
  await page.goto("/keys?state=active");
  await expect(page.getByLabel("State")).toHaveValue("active");
  await page.getByRole("searchbox").fill("checkout");
  await expect(page).toHaveURL(/q=checkout/);
  await page.reload();
  await expect(page.getByRole("searchbox")).toHaveValue("checkout");
  await page.getByRole("button", { name: "Create key" }).click();
  const drawer = page.getByRole("dialog");
  await drawer.getByLabel("Name", { exact: true }).fill("half done");
  await page.keyboard.press("Escape");
  await expect(drawer.getByText("Nothing of this is saved yet.")).toBeVisible();
  await drawer.getByRole("button", { name: "Keep editing" }).click();
  await expect(drawer.getByLabel("Name", { exact: true })).toHaveValue("half done");
  await page.keyboard.press("Escape");
  await drawer.getByRole("button", { name: "Discard" }).click();
  await expect(drawer).toBeHidden();
});

test("budgets are saved as a file that a spreadsheet opens", async ({ page, company, signIn }) => {
  const { person } = await company({ budgets: { organisation: 1_234_500_000_000n } });
  await signIn(await person("finance"));
  await page.goto("/budgets");
  const started = page.waitForEvent("download");
  await page.getByRole("button", { name: "Export CSV" }).click();
  const file = await readFile((await (await started).path()) ?? "", "utf8");
  expect(file).toMatch(/^\uFEFFWhere,Kind,Cost centre,/u);
  expect(file).toContain(",USD,1234.5,0,0,0,1234.5,0.0000,");
});
