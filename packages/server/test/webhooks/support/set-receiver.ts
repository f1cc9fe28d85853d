import type { ServerResponse } from 'node:http'
import { createRemoteJWKSet, errors, jwtVerify } from 'jose'
import type { Received } from './receiver.ts'

/** What a receiver of Security Event Tokens expects of the service (its issuer) and of the tokens. */
export interface SetReceiverSettings {
  readonly issuer: string
  readonly audience: string
  readonly authorization: string | undefined
  /** Where the keys are; by default, where the metadata of the issuer say. */
  readonly jwksUri?: string
}

/** Answers as RFC 8935 sections 2.2 to 2.4 say, with a general JWT library. */
export async function receiveSet(
  { issuer, audience, authorization, jwksUri }: SetReceiverSettings,
  { headers, body }: Received,
  response: ServerResponse,
): Promise<void> {
  const refuse = (status: number, err: string) => {
    response.writeHead(status, { 'content-type': 'application/json', 'content-language': 'en' })
    response.end(JSON.stringify({ err, description: `The token is refused: ${err}` }))
  }
  if (headers['content-type'] !== 'application/secevent+jwt') return refuse(400, 'invalid_request')
  if (headers.authorization !== authorization) return refuse(400, 'authentication_failed')
  const uri = jwksUri ?? (await metadataOf(issuer)).jwks_uri
  try {
    const { payload } = await jwtVerify(body, createRemoteJWKSet(new URL(uri)), {
      issuer,
      audience,
      typ: 'secevent+jwt',
      requiredClaims: ['jti', 'iat', 'events', 'sub_id'],
    })
    // RFC 8417, and SSF 1.0 section 4.1.4
    if ('exp' in payload || 'sub' in payload) return refuse(400, 'invalid_request')
    if (Object.keys(payload.events as object).length !== 1) return refuse(400, 'invalid_request')
    response.writeHead(202).end()
  } catch (error) {
    refuse(400, codeOf(error))
  }
}

async function metadataOf(issuer: string): Promise<{ readonly jwks_uri: string }> {
  const metadata = await fetch(`${issuer}/.well-known/ssf-configuration`)
  return (await metadata.json()) as { jwks_uri: string }
}

function codeOf(error: unknown): string {
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === 'iss') return 'invalid_issuer'
    if (error.claim === 'aud') return 'invalid_audience'
  }
  return error instanceof errors.JWKSNoMatchingKey ? 'invalid_key' : 'invalid_request'
}
