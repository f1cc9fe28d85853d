/** `agentId`: 1 to 128 code points, well-formed, without control characters. Compared byte for byte, never normalised. */
export const AGENT_ID_PATTERN = /^[^\p{Cc}\p{Cs}]{1,128}$/u
/** `challenge`: not empty, well-formed, without U+0000. Its length in bytes is checked separately. */
export const CHALLENGE_PATTERN = /^[^\0\p{Cs}]+$/u
export const CHALLENGE_MAX_BYTES = 8192
/** The username of an owner or an agent, as in URLs. */
export const USERNAME_PATTERN = /^[a-z0-9-]{3,32}$/
/** A display name: 1 to 64 code points, at least one of them visible, without control characters and direction overrides. */
export const DISPLAY_NAME_PATTERN =
  /^(?![\p{Z}\p{Default_Ignorable_Code_Point}]+$)[^\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]{1,64}$/u

/** A description: at most 160 code points (contract 2.3a), with line feeds but no other control characters and no direction overrides. */
export const DESCRIPTION_PATTERN = /^(?:[^\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]|\n){0,160}$/u

const encoder = new TextEncoder()

/** Encodes well-formed text as UTF-8. A lone surrogate would become U+FFFD, which is another text. */
export function utf8(text: string): Uint8Array {
  return encoder.encode(text)
}
