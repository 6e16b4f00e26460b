import type { Metadata, Viewport } from "next";
import { NextIntlClientProvider } from "next-intl";
import { getLocale, getTranslations } from "next-intl/server";
import { headers } from "next/headers";
import type { ReactElement, ReactNode } from "react";
import { NuqsAdapter } from "nuqs/adapters/next/app";
import { QueryProvider } from "@/components/query/provider";
import { Theme } from "@/components/shell/theme";
import "./globals.css";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("meta");
  return {
    title: { default: t("title"), template: `%s · ${t("title")}` },
    description: t("description"),
    robots: { index: false, follow: false },
  };
}

export const viewport: Viewport = {
  width: "device-width",
  initialScale: 1,
  viewportFit: "cover",
  themeColor: [
    { media: "(prefers-color-scheme: light)", color: "#f6f9fa" },
    { media: "(prefers-color-scheme: dark)", color: "#0f161d" },
  ],
};

export default async function RootLayout({ children }: { readonly children: ReactNode }): Promise<ReactElement> {
  const locale = await getLocale();
  const nonce = (await headers()).get("x-nonce") ?? "";
  return (
    <html lang={locale} suppressHydrationWarning>
      <body>
        <NextIntlClientProvider>
          <Theme nonce={nonce}>
            <QueryProvider>
              <NuqsAdapter>{children}</NuqsAdapter>
            </QueryProvider>
          </Theme>
        </NextIntlClientProvider>
      </body>
    </html>
  );
}
