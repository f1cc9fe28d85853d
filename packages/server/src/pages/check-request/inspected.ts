import type { Naming, SignatureResult } from '@countersign/protocol'
import type { BrokenRequest } from './break-request.ts'
import type { DecodedRequest } from './decode-request.ts'
import type { KeySource } from './find-key.ts'
import type { RequestLine } from './request-lines.ts'

/** A request whose checks were made. */
export interface Inspected {
  readonly naming: Naming
  readonly audience: string
  /** When it was checked, in milliseconds since 1970. */
  readonly now: number
  /** Whether that is a time that was entered or is in a link. */
  readonly isPinned: boolean
  /** Whether it is the present of a request that was not broken. */
  readonly isLive: boolean
  readonly broken: BrokenRequest
  readonly decoded: DecodedRequest
  readonly result: SignatureResult
  readonly lines: readonly RequestLine[]
  /** Null: no key was looked for. */
  readonly source: KeySource | null
  /** Whether a link has left out what is signed. */
  readonly isRedacted: boolean
}
