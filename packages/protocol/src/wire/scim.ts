import { type Static, Type } from 'typebox'
import { BASE58_CLASS } from '../base58.ts'
import type { Naming } from '../naming.ts'
import {
  MAX_SCIM_OPERATIONS,
  MAX_SCIM_PAGE,
  SCIM_ERROR_TYPES,
  SCIM_URNS,
  scimTokenPrefix,
} from '../scim.ts'
import { errorSchema } from './error.ts'
import { timestamp } from './formats.ts'
import { nullable } from './nullable.ts'

const scimTokenSchema = () =>
  Type.Object({
    id: Type.String(),
    createdAt: timestamp(),
    expiresAt: timestamp(),
    lastUsedAt: nullable(timestamp()),
  })

/** `GET /api/account/scim-tokens` */
export const scimTokensSchema = () => Type.Object({ tokens: Type.Array(scimTokenSchema()) })

export type ScimTokens = Static<ReturnType<typeof scimTokensSchema>>

/** `POST /api/account/scim-tokens` */
export const createdScimTokenSchema = (naming: Naming) =>
  Type.Object({
    id: Type.String(),
    secret: Type.String({
      pattern: `^${scimTokenPrefix(naming)}[0-9a-f]{32}$`,
      description: 'the token; shown only in this response',
    }),
    expiresAt: timestamp(),
    url: Type.String({ format: 'uri', description: 'the tenant URL for the identity provider' }),
  })

export type CreatedScimToken = Static<ReturnType<typeof createdScimTokenSchema>>

/** Every error of SCIM: in the form of RFC 7644 section 3.12 and in that of the other operations at once. */
export const scimErrorSchema = () =>
  Type.Object(
    {
      schemas: Type.Array(Type.Enum([SCIM_URNS.error], { type: 'string' })),
      status: Type.String({ pattern: '^[45][0-9]{2}$' }),
      detail: Type.String({ description: 'for people' }),
      scimType: Type.Optional(Type.Enum([...SCIM_ERROR_TYPES], { type: 'string' })),
      ...errorSchema().properties,
    },
    { title: 'ScimError', description: 'An error' },
  )

export type ScimErrorBody = Static<ReturnType<typeof scimErrorSchema>>

export const scimUserId = () =>
  Type.String({
    pattern: `^su_${BASE58_CLASS}{12}$`,
    description: 'the id of a user: su_ and 12 base58 characters',
  })

export const scimUserSchema = () =>
  Type.Object(
    {
      schemas: Type.Array(Type.Enum([SCIM_URNS.user], { type: 'string' })),
      id: scimUserId(),
      externalId: Type.Optional(Type.String()),
      userName: Type.String(),
      displayName: Type.Optional(Type.String()),
      active: Type.Boolean(),
      meta: Type.Object({
        resourceType: Type.Enum(['User'], { type: 'string' }),
        created: timestamp(),
        lastModified: timestamp(),
        location: Type.String({ format: 'uri' }),
      }),
    },
    { title: 'ScimUser', description: 'A user' },
  )

export type ScimUser = Static<ReturnType<typeof scimUserSchema>>

/** RFC 7644 section 3.4.2, of users and of what describes the service. */
export const scimListSchema = <T extends ReturnType<typeof Type.Object>>(item: T, title: string) =>
  Type.Object(
    {
      schemas: Type.Array(Type.Enum([SCIM_URNS.list], { type: 'string' })),
      totalResults: Type.Integer(),
      startIndex: Type.Integer({ description: 'of the first user, from 1' }),
      itemsPerPage: Type.Integer(),
      Resources: Type.Array(item),
    },
    { title, description: 'A page of a list' },
  )

export const scimUsersQuerySchema = () =>
  Type.Object({
    filter: Type.Optional(
      Type.String({
        maxLength: 1024,
        description: 'userName, externalId or id, then eq and a text in quotes',
      }),
    ),
    startIndex: Type.Optional(
      Type.String({
        pattern: '^-?[0-9]{1,9}$',
        description: 'the number of the first user, from 1',
      }),
    ),
    count: Type.Optional(
      Type.String({
        pattern: '^-?[0-9]{1,9}$',
        description: `the most users to list; at most and by default ${MAX_SCIM_PAGE}`,
      }),
    ),
  })

export type ScimUsersQuery = Static<ReturnType<typeof scimUsersQuerySchema>>

/** The service reads names in any case, and says in SCIM's words what is wrong with a value: the schema asks for little. */
export const newScimUserSchema = () =>
  Type.Object(
    {
      userName: Type.Optional(Type.Unknown({ description: 'a text; required' })),
      externalId: Type.Optional(
        Type.Unknown({ description: 'the subject of the sign-in at the identity provider' }),
      ),
      displayName: Type.Optional(Type.Unknown({ description: 'a text' })),
      active: Type.Optional(
        Type.Unknown({ description: 'a boolean, or True, true, False or false as a text' }),
      ),
    },
    {
      title: 'NewScimUser',
      description: 'A user. Other attributes are ignored',
      additionalProperties: true,
    },
  )

export const scimPatchSchema = () =>
  Type.Object(
    {
      Operations: Type.Optional(
        Type.Unknown({
          description: `1 to ${MAX_SCIM_OPERATIONS} objects with op, path and value (RFC 7644 section 3.5.2)`,
        }),
      ),
    },
    {
      title: 'ScimPatch',
      description: 'Changes of a user, all or none',
      additionalProperties: true,
    },
  )
