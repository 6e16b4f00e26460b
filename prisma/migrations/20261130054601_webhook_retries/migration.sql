-- AlterTable: how often a person had it posted anew after it was given up; part of the name under which it is queued.
ALTER TABLE "webhook_deliveries" ADD COLUMN     "retries" INTEGER NOT NULL DEFAULT 0;
