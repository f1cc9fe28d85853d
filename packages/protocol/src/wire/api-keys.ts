import { type Static, Type } from 'typebox'
import {
  API_KEY_DEFAULT_DAYS,
  API_KEY_MAX_DAYS,
  API_KEY_SCOPES,
  apiKeyPrefix,
  MAX_ORGANISATION_API_KEYS,
} from '../api-key.ts'
import type { Naming } from '../naming.ts'
import { timestamp } from './formats.ts'
import { displayName } from './names.ts'
import { nullable } from './nullable.ts'
import { membershipId } from './organisations.ts'

/** API keys of the signed-in owner. */

const scopes = () =>
  Type.Array(Type.Enum([...API_KEY_SCOPES], { type: 'string' }), {
    minItems: 1,
    maxItems: API_KEY_SCOPES.length,
    uniqueItems: true,
    description: 'what the key may do',
  })

export const apiKeySchema = () =>
  Type.Object(
    {
      id: Type.String({ description: 'the id of the key in URLs; not a secret' }),
      name: Type.String(),
      scopes: scopes(),
      lastFour: Type.String({ description: 'the last four characters of the key' }),
      createdAt: timestamp(),
      expiresAt: timestamp(),
      lastUsedAt: nullable({
        ...timestamp(),
        description: 'when it was last used, to within 5 minutes; null: never',
      }),
      createdBy: Type.Optional(
        Type.Object(
          { id: membershipId(), displayName: Type.String() },
          {
            description:
              'the member who created the key of an organisation, which their role limits',
          },
        ),
      ),
    },
    { description: 'An API key, without the secret' },
  )

export type ApiKey = Static<ReturnType<typeof apiKeySchema>>

/** `GET /api/account/api-keys` */
export const apiKeysSchema = () =>
  Type.Object(
    { apiKeys: Type.Array(apiKeySchema(), { maxItems: MAX_ORGANISATION_API_KEYS }) },
    { description: 'API keys, newest first' },
  )

export type ApiKeys = Static<ReturnType<typeof apiKeysSchema>>

/** `POST /api/account/api-keys` */
export const newApiKeySchema = () =>
  Type.Object(
    {
      name: displayName(),
      scopes: scopes(),
      expiresInDays: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: API_KEY_MAX_DAYS,
          description: `the lifetime in days. Default: ${API_KEY_DEFAULT_DAYS}`,
        }),
      ),
    },
    { additionalProperties: false },
  )

export type NewApiKey = Static<ReturnType<typeof newApiKeySchema>>

export const createdApiKeySchema = (naming: Naming) =>
  Type.Object(
    {
      ...apiKeySchema().properties,
      secret: Type.String({
        pattern: `^${apiKeyPrefix(naming)}[0-9a-f]{32}$`,
        description: 'the key; shown only in this response',
      }),
    },
    { description: 'A new API key' },
  )

export type CreatedApiKey = Static<ReturnType<typeof createdApiKeySchema>>
