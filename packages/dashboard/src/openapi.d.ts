/** One schema of the API's document, as `setup/build-dashboard.ts` finds it. */
declare module "openapi:*" {
  export const schema: import("./ui/fields.tsx").RequestSchema;
}
declare module "*.css";
