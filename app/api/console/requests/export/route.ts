import { getTranslations } from "next-intl/server";
import { exportRequests } from "@/lib/console/request-export";
import { downloadRoute } from "@/lib/console/route";
import { services } from "@/lib/console/services";
import { requestListQuery } from "@/lib/contracts/requests";

export const GET = downloadRoute({ action: "export.create", query: requestListQuery }, async ({ who, query }) => {
  const t = await getTranslations("requestExport");
  const { timeZone, id } = who.organisation;
  return {
    fileName: `spillway-requests-${id}.csv`,
    pieces: exportRequests(services(), who, query, (column) => t(`column.${column}`, { zone: timeZone })),
  };
});
