import NextAuth from "next-auth";
import type { NextRequest } from "next/server";
import { authOptions } from "@/lib/console/auth";

interface Context {
  readonly params: Promise<{ readonly nextauth: string[] }>;
}

async function handle(request: NextRequest, context: Context): Promise<Response> {
  return (await NextAuth(request, context, authOptions())) as Response;
}

export { handle as GET, handle as POST };
