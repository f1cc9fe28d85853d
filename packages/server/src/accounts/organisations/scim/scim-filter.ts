import { ScimError } from '../../../http/scim-errors.ts'
import type { ScimUserMatch } from './scim-user-table.ts'

const FILTER =
  /^ *(?:urn:ietf:params:scim:schemas:core:2\.0:User:)?(userName|externalId|id) +eq +("(?:[^"\\]|\\.)*") *$/i

const COLUMNS: Readonly<Record<string, ScimUserMatch['column']>> = {
  username: 'user_name_folded',
  externalid: 'external_id',
  id: 'id',
}

/** Names of users are compared without case. */
export function foldUserName(name: string): string {
  return name.toLowerCase()
}

/**
 * Reads a filter by which identity providers look for one user (RFC 7644 section 3.4.2.2).
 * @throws ScimError VALIDATION_ERROR for any other filter
 */
export function readScimFilter(filter: string): ScimUserMatch {
  const [, attribute = '', quoted = ''] = FILTER.exec(filter) ?? []
  const column = COLUMNS[attribute.toLowerCase()]
  const value = parseText(quoted)
  if (column === undefined || value === null) {
    throw new ScimError(
      'VALIDATION_ERROR',
      'invalidFilter',
      'The filter must be userName, externalId or id, then eq and a text in quotes.',
    )
  }
  return { column, value: column === 'user_name_folded' ? foldUserName(value) : value }
}

/** The value is a JSON string. @returns null if it is none */
function parseText(quoted: string): string | null {
  try {
    return JSON.parse(quoted) as string
  } catch {
    return null
  }
}
