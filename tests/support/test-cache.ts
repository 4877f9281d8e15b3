/** Folder that test runs of all checkouts on this machine share: images and frozen templates, each named by the digest of what it is made of, and times of
 *  the last run. Outside of the checkout, so that a fresh clone does not make them again. Removing it costs time and nothing else. */
export const testCache = process.env["SKERRY_TEST_CACHE"] ?? "/var/cache/skerry-tests";
