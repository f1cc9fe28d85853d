import { isIdHeader, SHORT_NAME_PATTERN } from '@countersign/protocol'
import { CountersignError } from './errors.ts'
import { isTransient } from './http/retry.ts'
import { ServiceClient } from './http/service-client.ts'
import type { Names, RegistryOptions } from './options.ts'
import { type Read, UnexpectedShape } from './responses/read-schema.ts'
import { clientSettings } from './settings.ts'

/**
 * Reads the short name and the identification header from a service's `/openapi.json`.
 * @throws CountersignError PROTOCOL if it is no service, or describes no such names; and the errors of every call
 */
export async function discoverNaming(
  service: string | URL,
  options: RegistryOptions = {},
  signal?: AbortSignal,
): Promise<Names> {
  const client = new ServiceClient(clientSettings(service, options))
  try {
    return await client.send({ path: '/openapi.json' }, readNaming, isTransient, signal)
  } catch (cause) {
    const { code, status } = cause as CountersignError
    if (code !== 'PROTOCOL' && code !== 'NOT_FOUND') throw cause
    const { origin } = client.service
    throw new CountersignError(
      'PROTOCOL',
      `${origin} is no Countersign service: its /openapi.json does not describe one. Give the address of the service that certifies agents, such as https://id.example, not that of a site.`,
      { cause, ...(status !== null && { status }) },
    )
  }
}

const readNaming: Read<Names> = (body) => {
  const operation = ['paths', '/api/v1/identify', 'get']
  const parameters = valueAt(body, ...operation, 'parameters')
  const response = [...operation, 'responses', '200', 'content', 'application/json']
  const properties = valueAt(schemaAt(body, ...response), 'properties')
  const header =
    Array.isArray(parameters) && parameters.find((one) => valueAt(one, 'in') === 'header')
  const [field = '', ...others] = Object.keys(properties ?? {}).filter((name) => /Did$/.test(name))
  const shortName = field.slice(0, -'Did'.length)
  const idHeader = valueAt(header, 'name')
  const known = typeof idHeader === 'string' && isIdHeader(idHeader)
  if (others.length > 0 || !SHORT_NAME_PATTERN.test(shortName) || !known) {
    throw UnexpectedShape.at('body.paths')
  }
  return { shortName, idHeader }
}

/** The schema of a media type, which may be a component of the document. */
function schemaAt(body: unknown, ...media: string[]): unknown {
  const schema = valueAt(body, ...media, 'schema')
  const reference = valueAt(schema, '$ref')
  if (typeof reference !== 'string' || !reference.startsWith('#/')) return schema
  return valueAt(body, ...reference.slice(2).split('/'))
}

function valueAt(value: unknown, ...path: string[]): unknown {
  let here = value
  for (const name of path) {
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, name)) return undefined
    here = (here as Record<string, unknown>)[name]
  }
  return here
}
