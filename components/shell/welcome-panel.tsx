"use client";
import { LogOut } from "lucide-react";
import { signOut } from "next-auth/react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import type { ReactElement } from "react";
import { Button } from "@/components/ui/button";
import { FoundedPanel } from "./founded-panel";
import { FoundingForm } from "./founding-form";
import { Threshold } from "./threshold";

interface WelcomePanelProps {
  readonly user: { readonly name: string; readonly email: string };
  /** False where organisations exist: then only their owners can let this person in. */
  readonly canFound: boolean;
  readonly hasSandbox: boolean;
}

function SignOut({ email }: { readonly email: string }): ReactElement {
  const t = useTranslations("welcome");
  const s = useTranslations("shell");
  return (
    <div className="mt-8 flex flex-wrap items-center gap-x-3 gap-y-2 border-t pt-4 text-[0.8125rem] text-soft">
      <span className="min-w-0 flex-1 basis-40 break-words">{t("signedInAs", { email })}</span>
      <Button size="sm" onClick={() => void signOut({ callbackUrl: "/sign-in" })}>
        <LogOut aria-hidden /> {s("signOut")}
      </Button>
    </div>
  );
}

/** For a person without an organisation: found the first one, or learn whom to ask. */
export function WelcomePanel({ user, canFound, hasSandbox }: WelcomePanelProps): ReactElement {
  const t = useTranslations("welcome");
  const [founded, setFounded] = useState<{ readonly withSandbox: boolean } | null>(null);
  if (founded !== null) return <FoundedPanel withSandbox={founded.withSandbox} />;
  return (
    <Threshold
      title={t(canFound ? "title" : "strangerTitle")}
      lead={canFound ? t("lead", { name: user.name }) : t("strangerBody", { email: user.email })}
    >
      {canFound ? <FoundingForm hasSandbox={hasSandbox} onFounded={setFounded} /> : null}
      <SignOut email={user.email} />
    </Threshold>
  );
}
