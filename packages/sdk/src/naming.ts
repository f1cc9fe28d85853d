import { type Naming, namingFor } from '@countersign/protocol'
import { CountersignError } from './errors.ts'
import type { Names, NamingOptions } from './options.ts'

/** @throws CountersignError INVALID_ARGUMENT if a name has another form than the protocol allows */
export function namingOf({ shortName, idHeader }: NamingOptions = {}): Naming {
  try {
    return namingFor(shortName, idHeader)
  } catch (cause) {
    throw new CountersignError('INVALID_ARGUMENT', `naming: ${(cause as Error).message}`, { cause })
  }
}

/** The names of a Registry. @param naming null: any deployment. @throws CountersignError INVALID_ARGUMENT then */
export function namesOf(naming: Naming | null): Names {
  if (naming !== null) return { shortName: naming.shortName, idHeader: naming.idHeader }
  const message = 'This Registry is for any deployment and has no names.'
  throw new CountersignError('INVALID_ARGUMENT', message)
}
