import { type Naming, namingFor } from '@countersign/protocol'
import { CountersignError } from './errors.ts'
import type { NamingOptions } from './options.ts'

/** @throws CountersignError INVALID_ARGUMENT if a name has another form than the protocol allows */
export function namingOf({ shortName, idHeader }: NamingOptions = {}): Naming {
  try {
    return namingFor(shortName, idHeader)
  } catch (cause) {
    throw new CountersignError('INVALID_ARGUMENT', `naming: ${(cause as Error).message}`, { cause })
  }
}
