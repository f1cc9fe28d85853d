import {
  CodedError,
  type ErrorCode,
  type ErrorEnvelope,
  SCIM_TYPE,
  SCIM_URNS,
  type ScimErrorBody,
  type ScimErrorType,
} from '@countersign/protocol'

/** Where the paths of SCIM begin. */
export const SCIM_BASE = '/scim/v2'
export const SCIM_JSON = `${SCIM_TYPE}; charset=utf-8`

/** @param url with a query, or the pattern of a route */
export function isScim(url: string): boolean {
  return /^\/scim\/v2(?![^/?])/.test(url)
}

/** An error with the detail for SCIM clients (RFC 7644 section 3.12). */
export class ScimError extends CodedError {
  readonly scimType: ScimErrorType

  constructor(code: ErrorCode, scimType: ScimErrorType, message: string) {
    super(code, message)
    this.scimType = scimType
  }
}

/** An error in the form of RFC 7644 section 3.12, with the contract's envelope beside it. */
export function scimErrorBody(
  status: number,
  { error }: ErrorEnvelope,
  scimType?: ScimErrorType,
): ScimErrorBody {
  return {
    schemas: [SCIM_URNS.error],
    status: String(status),
    detail: error.message,
    ...(scimType !== undefined && { scimType }),
    error,
  }
}
