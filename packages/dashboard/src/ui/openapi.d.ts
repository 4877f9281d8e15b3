/** One schema of the API's document, as `setup/build-dashboard.ts` finds it. */
declare module "openapi:*" {
  import type { RequestSchema } from "./fields.tsx";
  export const schema: RequestSchema;
}
declare module "*.css";
