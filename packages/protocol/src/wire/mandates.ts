import { type Static, Type } from 'typebox'
import {
  AMOUNT_PATTERN,
  MAX_MANDATE_DAYS,
  MAX_MANDATE_USES_PER_DAY,
  type MandateRule,
} from '../approvals/mandate.ts'
import type { Naming } from '../naming.ts'
import { approvalAssertion, approvalId } from './approvals.ts'
import { did, timestamp } from './formats.ts'
import { nullable } from './nullable.ts'
import { openObject } from './session.ts'

/** Standing mandates: the service approves requests like one that a person has approved (docs/approvals.md). */

export const MANDATE_STATES = ['active', 'expired', 'ended'] as const
export type MandateState = (typeof MANDATE_STATES)[number]

const amount = (description: string) =>
  Type.String({ pattern: AMOUNT_PATTERN.source, description: `${description}, such as 50.00` })

const pointer = () => Type.String({ maxLength: 400, description: 'a JSON Pointer, such as /total' })

const rule = () =>
  Type.Unsafe<MandateRule>(
    Type.Union(
      [
        Type.Literal('any'),
        Type.Object(
          {
            equals: Type.String({
              maxLength: 30_000,
              description:
                'the value as the page of an approval shows it, such as "EUR" with its quotation marks',
            }),
          },
          { title: 'EqualValue', additionalProperties: false },
        ),
        Type.Object(
          { atMost: amount('the highest amount') },
          { title: 'HighestAmount', additionalProperties: false },
        ),
      ],
      { description: 'the text any, or an object with equals or atMost' },
    ),
  )

const terms = () => ({
  limits: Type.Object(
    {
      origins: Type.Array(Type.String(), { minItems: 1, maxItems: 1 }),
      methods: Type.Array(Type.String(), { minItems: 1, maxItems: 1 }),
      paths: Type.Array(Type.String(), { minItems: 1, maxItems: 8 }),
    },
    {
      additionalProperties: false,
      description: 'as in delegations: the origin and the method of the approval, and paths',
    },
  ),
  body: nullable(
    Type.Record(pointer(), rule(), {
      maxProperties: 40,
      description: 'a rule for each value of the body, by JSON Pointer; null: no body',
    }),
  ),
  total: nullable(
    Type.Object(
      {
        pointer: pointer(),
        amount: amount('the most that the requests may amount to'),
        days: Type.Integer({ minimum: 1, maximum: MAX_MANDATE_DAYS, description: 'in how many' }),
      },
      { additionalProperties: false, description: 'of a value with atMost; null: no total' },
    ),
  ),
  perDay: Type.Integer({
    minimum: 1,
    maximum: MAX_MANDATE_USES_PER_DAY,
    description: 'the most requests in 24 hours',
  }),
})

/** `POST /api/account/mandates` */
export const newMandateSchema = (naming: Naming) =>
  Type.Object(
    {
      agent: did(naming),
      from: approvalId(),
      ...terms(),
      expiresAt: Type.String({
        format: 'date-time',
        description: `an ISO 8601 timestamp in UTC with milliseconds, at most ${MAX_MANDATE_DAYS} days ahead`,
      }),
      response: openObject(
        'the assertion of the passkey in its JSON form; its challenge is the hash of the statement',
      ),
    },
    { additionalProperties: false },
  )

/** A mandate as its owner makes it. */
export type NewMandate = Static<ReturnType<typeof newMandateSchema>>

const summary = (naming: Naming) => ({
  id: Type.String({ description: 'md_ and 22 base64url characters' }),
  agent: did(naming),
  displayName: Type.String({ description: 'the name of the agent, which nobody verified' }),
  state: Type.Enum([...MANDATE_STATES], {
    type: 'string',
    description:
      'ended: by you, or since the agent was suspended or revoked, got another key or another owner, or may no longer ask',
  }),
  from: approvalId(),
  ...terms(),
  query: Type.String({ description: 'of each request, as it is written; empty: none' }),
  used: Type.Object(
    {
      lastDay: Type.Integer({ description: 'requests in the last 24 hours' }),
      amount: nullable(
        Type.String({ description: 'in the days of the total; null: there is no total' }),
      ),
    },
    { description: 'what counts now' },
  ),
  createdAt: timestamp(),
  createdBy: nullable(
    Type.String({ description: 'the member of the organisation who made it, by their name' }),
  ),
  expiresAt: timestamp(),
  endedAt: nullable({ ...timestamp(), description: 'when you ended it; null: you did not' }),
})

const signed = () => ({
  statement: Type.String({ description: 'what was signed, as canonical JSON (RFC 8785)' }),
  assertion: approvalAssertion(),
})

/** `GET /api/account/mandates` */
export const mandatesSchema = (naming: Naming) =>
  Type.Object(
    {
      mandates: Type.Array(Type.Object(summary(naming)), { description: 'newest first' }),
      next: nullable(Type.String({ description: 'pass it as `before` for the next page' })),
    },
    { description: 'A page of mandates' },
  )

/** A page of mandates. */
export type Mandates = Static<ReturnType<typeof mandatesSchema>>

/** `GET /api/account/mandates/{id}`, and what making or ending one gives. */
export const mandateSchema = (naming: Naming) =>
  Type.Object(
    {
      ...summary(naming),
      ...signed(),
      uses: Type.Array(
        Type.Object({
          approval: approvalId(),
          method: Type.String(),
          url: Type.String(),
          amount: nullable(Type.String({ description: 'null: there is no total' })),
          at: timestamp(),
        }),
        { description: 'the last 100 requests that it approved, newest first' },
      ),
    },
    { description: 'A mandate as its owner sees it' },
  )

/** A mandate as its owner sees it. */
export type Mandate = Static<ReturnType<typeof mandateSchema>>

/** Mandates in the export of an account. */
export const exportedMandatesSchema = (naming: Naming) =>
  Type.Array(Type.Object({ ...summary(naming), ...signed() }), {
    description: 'standing mandates, oldest first; what they approved is among the approvals',
  })
