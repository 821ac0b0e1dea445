const faults: Record<string, string> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk has no more room for this account',
  EROFS: 'the disk can only be read',
}

/** What is wrong with the disk as a whole, so that nothing else can be written either; null for any other error. */
export function diskFault(error: unknown): string | null {
  const { code, cause } = error as NodeJS.ErrnoException
  return faults[code ?? ''] ?? (cause ? diskFault(cause) : null)
}
