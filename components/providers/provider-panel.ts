import type { BudgetView } from "@/lib/contracts/budgets";
import type { DeploymentView, ProviderView } from "@/lib/contracts/models";

/** What is open beside the page; null in place of the edited thing makes a new one. */
export type ProviderPanel =
  | { readonly kind: "provider"; readonly provider: ProviderView | null }
  | { readonly kind: "deployment"; readonly provider: ProviderView; readonly deployment: DeploymentView | null }
  | { readonly kind: "limit"; readonly provider: ProviderView; readonly budget: BudgetView | null }
  | { readonly kind: "limitRemoval"; readonly provider: ProviderView; readonly budget: BudgetView };
