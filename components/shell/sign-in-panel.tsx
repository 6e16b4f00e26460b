import { useTranslations } from "next-intl";
import type { ReactElement } from "react";
import { SignInForm } from "./sign-in-form";
import { Threshold } from "./threshold";

interface SignInPanelProps {
  readonly next: string;
  readonly isSample: boolean;
}

export function SignInPanel({ next, isSample }: SignInPanelProps): ReactElement {
  const t = useTranslations("signIn");
  return (
    <Threshold title={t("title")} lead={t("lead")}>
      <SignInForm next={next} isSample={isSample} />
    </Threshold>
  );
}
