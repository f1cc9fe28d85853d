/** The `typ` of an authorization grant (draft-ietf-oauth-rfc7523bis). Its key signs nothing else. */
export const GRANT_TOKEN_TYPE = 'authorization-grant+jwt'

/** The `grant_type` with which an agent presents a grant at a token endpoint (RFC 7523 section 2.1). */
export const JWT_BEARER_GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** The longest lifetime of a grant, in seconds. */
export const GRANT_LIFETIME = 300

/** Grant issuers that an owner may have at once. */
export const MAX_GRANT_ISSUERS = 100

/** Authorization servers of an agent that the service remembers: those used last. */
export const MAX_AUTHORIZATION_SERVERS = 20

/** The longest URL in a request for a grant, in characters. */
export const MAX_GRANT_URL_LENGTH = 1024
