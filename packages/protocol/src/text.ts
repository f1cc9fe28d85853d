/** `agentId`: 1 to 128 code points, no control character, well-formed. Compared byte for byte, never normalised. */
export const AGENT_ID_PATTERN = /^[^\p{Cc}\p{Cs}]{1,128}$/u
/** `challenge`: not empty, no U+0000, well-formed; its length in bytes is checked apart. */
export const CHALLENGE_PATTERN = /^[^\0\p{Cs}]+$/u
export const CHALLENGE_MAX_BYTES = 8192
/** A handle of an owner or an agent in URLs. */
export const USERNAME_PATTERN = /^[a-z0-9-]{3,32}$/
/** A name that people read: 1 to 64 code points, some of them visible, no control and no bidirectional override. */
export const DISPLAY_NAME_PATTERN =
  /^(?![\p{Z}\p{Default_Ignorable_Code_Point}]+$)[^\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]{1,64}$/u

/** What an agent does: at most 160 code points (contract 2.3a), in lines, no other control and no bidirectional override. */
export const DESCRIPTION_PATTERN = /^(?:[^\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]|\n){0,160}$/u

const encoder = new TextEncoder()

/** UTF-8 bytes. Give it well-formed text only: a lone surrogate would become U+FFFD, the bytes of another text. */
export function utf8(text: string): Uint8Array {
  return encoder.encode(text)
}
