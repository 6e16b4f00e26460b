/**
 * Runs before pages only: sends signed-out visitors to sign-in and sets the content security policy with a fresh nonce.
 * It decides nothing about access: each page asks for its permission itself. The gateway's paths are never matched.
 */
import { NextResponse } from "next/server";
import type { NextRequest } from "next/server";

const SESSION_COOKIES = ["next-auth.session-token", "__Secure-next-auth.session-token"];
/** Pages for which nobody needs to be signed in. */
const PUBLIC_PAGES = ["/sign-in"];

function policyFor(nonce: string, isDevelopment: boolean): string {
  const scripts = isDevelopment ? `'self' 'unsafe-eval' 'nonce-${nonce}'` : `'self' 'nonce-${nonce}' 'strict-dynamic'`;
  // Charts and dialogs place things by style attributes, which a nonce cannot cover; scripts are what must be locked.
  return [
    "default-src 'self'",
    `script-src ${scripts}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    `connect-src 'self'${isDevelopment ? " ws:" : ""}`,
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");
}

function isSignedIn(request: NextRequest): boolean {
  return request.cookies
    .getAll()
    .some(({ name }) => SESSION_COOKIES.some((known) => name === known || name.startsWith(`${known}.`)));
}

export function proxy(request: NextRequest): NextResponse {
  const { pathname, search } = request.nextUrl;
  const isPublic = PUBLIC_PAGES.includes(pathname);
  if (!isPublic && !isSignedIn(request)) {
    const target = request.nextUrl.clone();
    target.pathname = "/sign-in";
    target.search = pathname === "/" ? "" : `?next=${encodeURIComponent(pathname + search)}`;
    return NextResponse.redirect(target);
  }
  const nonce = btoa(crypto.randomUUID());
  // eslint-disable-next-line no-restricted-properties -- a constant of the build, not a setting; this file has no Node
  const policy = policyFor(nonce, process.env.NODE_ENV === "development");
  const headers = new Headers(request.headers);
  headers.set("x-nonce", nonce);
  headers.set("content-security-policy", policy);
  const response = NextResponse.next({ request: { headers } });
  response.headers.set("content-security-policy", policy);
  return response;
}

export const config = {
  // Not /api (the gateway, console routes and sign-in guard themselves), not /v1, not files of the build.
  matcher: ["/((?!api/|v1/|v1beta/|v1$|_next/|icon|favicon|robots.txt).*)"],
};
