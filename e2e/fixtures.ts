// What every browser story starts from: a company of its own, made by the real use cases, and a person who signs in.
import { randomBytes } from "node:crypto";
import { test as base } from "@playwright/test";
import type { Page } from "@playwright/test";
import { createUser } from "@/lib/control/users";
import type { Role } from "@/lib/domain/role";
import { e2eEnvironment } from "@/lib/testing/e2e-environment";
import { createTestControl, createTestOrganisation, testPrincipal } from "@/lib/testing/factories";
import type { TestControl, TestOrganisation, TestOrganisationOptions } from "@/lib/testing/factories";

export interface Person {
  readonly email: string;
  readonly password: string;
}

export interface Company extends TestOrganisation {
  /** A person with this role at the root, or at the node named. */
  readonly person: (role: Role, consumerId?: string) => Promise<Person>;
}

interface Fixtures {
  readonly company: (options?: TestOrganisationOptions) => Promise<Company>;
  readonly signIn: (person: Person, page?: Page) => Promise<void>;
}
interface WorkerFixtures {
  readonly control: TestControl;
}

export const test = base.extend<Fixtures, WorkerFixtures>({
  control: [
    async ({}, use) => {
      const { databaseUrl, redisUrl } = e2eEnvironment();
      const control = createTestControl(databaseUrl, redisUrl);
      await use(control);
      await control.close();
    },
    { scope: "worker" },
  ],
  company: async ({ control }, use) => {
    // Its models are served by the stand-in provider of the product under test.
    const sandboxUrl = `${e2eEnvironment().sandboxUrl}/v1`;
    await use(async (options = {}) => {
      const organisation = await createTestOrganisation(control, { sandboxUrl, ...options });
      const person = async (role: Role, consumerId = organisation.organisationId): Promise<Person> => {
        const made = {
          email: `${role}-${randomBytes(6).toString("hex")}@example.com`,
          password: randomBytes(12).toString("base64url"),
        };
        const { organisationId } = organisation;
        await createUser(control, testPrincipal, {
          ...made,
          ...{ organisationId, consumerId, role },
          ...{ name: `Test ${role}`, locale: null },
        });
        return made;
      };
      return { ...organisation, person };
    });
  },
  signIn: async ({ page: own }, use) => {
    await use(async (person, page = own) => {
      await page.goto("/sign-in");
      await page.locator("input[name=email]").fill(person.email);
      await page.locator("input[name=password]").fill(person.password);
      await page.locator("button[type=submit]").click();
      await page.waitForURL("**/overview");
    });
  },
});

export { expect } from "@playwright/test";
