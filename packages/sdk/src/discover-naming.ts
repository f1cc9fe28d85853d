import { Departure, matching, type Read } from './answers/fields.ts'
import { isTransient } from './http/patience.ts'
import { ServiceClient } from './http/service-client.ts'
import type { Names } from './names.ts'
import type { RegistryOptions } from './registry-options.ts'
import { settingsOf } from './settings.ts'

/** Where a service describes itself: it spells its own names there. */
const DESCRIPTION = '/openapi.json'

/**
 * Asks a service for its short name and the name of its identification header, in lower case.
 * @throws CountersignError as every call does
 */
export function discoverNaming(
  service: string | URL,
  options: RegistryOptions = {},
  signal?: AbortSignal,
): Promise<Names> {
  const client = new ServiceClient(settingsOf(service, options))
  return client.once({ path: DESCRIPTION }, readNaming, isTransient, signal)
}

const readNaming: Read<Names> = (value, place) => {
  const parameters = at(value, 'paths', '/api/v1/identify', 'get', 'parameters')
  const properties = at(
    value,
    ...['paths', '/api/v1/identify', 'get', 'responses', '200'],
    ...['content', 'application/json', 'schema', 'properties'],
  )
  const header = Array.isArray(parameters) && parameters.find((each) => at(each, 'in') === 'header')
  const [field, ...more] = Object.keys(properties ?? {}).filter((name) => name.endsWith('Did'))
  if (more.length > 0) throw Departure.at(place)
  return {
    shortName: matching(/^[a-z][a-z0-9]{0,15}$/)(field?.slice(0, -'Did'.length), `${place}.paths`),
    idHeader: matching(/^[A-Za-z][A-Za-z0-9-]{0,31}$/)(at(header, 'name'), `${place}.paths`),
  }
}

function at(value: unknown, ...path: string[]): unknown {
  let here = value
  for (const name of path) {
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, name)) return undefined
    here = (here as Record<string, unknown>)[name]
  }
  return here
}
