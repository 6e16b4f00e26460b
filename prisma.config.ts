// Prisma's own command line reads this; the product itself applies migrations with scripts/migrate.ts.
import { defineConfig } from "prisma/config";

export default defineConfig({
  schema: "prisma/schema.prisma",
  migrations: { path: "prisma/migrations", seed: "tsx prisma/seed.ts" },
  // `prisma generate` needs no database, so an absent address must not be an error here.
  datasource: { url: process.env["DATABASE_URL"] ?? "" },
});
