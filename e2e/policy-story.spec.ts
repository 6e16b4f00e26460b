// A ladder is changed in its form and tried on some first: the preview says what callers will get, the difference what changes; a
// version stands in shadow, reaches everybody, and what was done stands with who did it.
import type { Page } from "@playwright/test";
import { e2eEnvironment } from "@/lib/testing/e2e-environment";
import { applicationOf } from "./application";
import { expect, test } from "./fixtures";

async function openPolicy(page: Page): Promise<void> {
  await page.goto("/policies");
  await page.getByRole("main").getByRole("list").getByRole("link").first().click();
  await expect(page.getByRole("heading", { name: "Ladders" })).toBeVisible();
}

test("a ladder is changed in its form, rolled out in shadow, then for everybody, and taken back", async ({
  page,
  company,
  signIn,
}) => {
  test.setTimeout(120_000);
  const { person, apiKey } = await company({ budget: { ladder: "monthly-department" } });
  await signIn(await person("engineer"));
  await openPolicy(page);

  const ladder = page.locator('[data-ladder="monthly-department"]');
  await ladder.locator("summary").click();
  const preview = ladder.getByTestId("ladder-preview");
  const general = preview.locator('[data-class="general"]');
  await expect(general).toContainText("served by sandbox-large; from 90% by sandbox-small instead");

  // A mark that does not rise is named where it stands, by the rule that would refuse it, before anything is sent.
  const warn = ladder.locator("fieldset").nth(1);
  await warn.getByLabel("From %").fill("95");
  await expect(ladder.getByText("This must be above the rung before it.")).toBeVisible();
  await expect(preview).toContainText("Mend the marked fields");
  await warn.getByLabel("From %").fill("0.5");
  await warn.getByLabel("general calls").selectOption("downgrade");
  await expect(general).toContainText("served by sandbox-large; from 0.5% by sandbox-small instead");
  const changes = page.getByTestId("policy-changes").first();
  await expect(changes).toContainText("0.5% · general calls");

  await page.getByLabel("By a rollout").check();
  await page.getByLabel("Note (optional)").fill("cheaper sooner");
  await page.getByRole("button", { name: "Store as version 2" }).click();
  const rollout = page.getByRole("region", { name: "Rollout" });
  await rollout.getByRole("button", { name: /^Roll out/ }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByLabel("In shadow: nobody yet")).toBeChecked();
  await dialog.getByRole("button", { name: "Start" }).click();
  await expect(rollout).toContainText("Version 2 in shadow: it holds for nobody");

  const application = applicationOf(`${e2eEnvironment().baseUrl}/api/v1`, apiKey.secret);
  const modelOf = async (): Promise<string> => (await application.chat({ prompt: 400, completion: 50_000 })).model;
  // One call is half a percent of the budget and more; in shadow the next one is served as ever.
  expect(await modelOf()).toBe("sandbox-large");
  expect(await modelOf()).toBe("sandbox-large");

  await rollout.getByRole("button", { name: "Raise…" }).click();
  await dialog.getByLabel("New share").selectOption("100");
  await expect(dialog).toContainText("It reaches 1 of 1 apps: app.");
  await dialog.getByRole("button", { name: "Move" }).click();
  await expect(rollout).toContainText("Version 2 holds for 100%");
  await expect.poll(modelOf).toBe("sandbox-small");

  await rollout.getByRole("button", { name: "Hold" }).click();
  await dialog.getByRole("button", { name: "Hold" }).click();
  await expect(rollout.getByRole("button", { name: "Raise…" })).toBeDisabled();
  await rollout.getByRole("button", { name: "Roll back" }).click();
  await dialog.getByRole("button", { name: "Roll back" }).click();
  await expect.poll(modelOf).toBe("sandbox-large");
  await expect(rollout.locator("[data-act]")).toHaveText([
    /rolled back from 100%.*Test engineer/,
    /held at 100%/,
    /0% → 100%/,
    /started at 0%/,
  ]);
});
