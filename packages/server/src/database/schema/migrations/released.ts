/**
 * SHA-256 (hexadecimal) of each released migration: of its files, which begin with the same number, in order of their names. A test
 * compares it. Empty until the first release is tagged.
 */
export const RELEASED: Readonly<Record<string, string>> = {}
