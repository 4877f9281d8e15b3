// What a guest has made and a browser shows at the API's own address, to which it is hostile.

/** A page gets an origin of its own that nothing else has: no cookies, storage or service workers of ours, and no reading of our answers. */
export const GUEST_CONTENT_POLICY = "sandbox allow-scripts allow-forms";
