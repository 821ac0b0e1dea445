import { useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { OperatorTokenWithSecret } from '../../../src/wire/tokens.ts'
import { call, Unavailable } from '../api.ts'
import { NotFound } from '../frame/frame.tsx'
import { useModels } from '../models.ts'
import { Head } from '../parts/head.tsx'
import { useSamples } from '../parts/samples.ts'
import { Secret } from '../parts/secret.tsx'
import { useMay } from '../session.tsx'
import { useText } from '../text.tsx'
import { firstAllowed, isOfTokens, newTokenValues, tokensPath, toNewToken } from '../tokens.ts'
import { TokenForm } from './token-form.tsx'

const route = getRouteApi('/tokens/new')

export function NewTokenPage() {
  const t = useText()
  const { project = '' } = route.useSearch()
  const queries = useQueryClient()
  const [issued, setIssued] = useState<OperatorTokenWithSecret | null>(null)
  if (!useMay()('operate')) return <NotFound />
  return (
    <>
      <Head title={issued ? issued.name : t('tokens.create')} back={<Link to="/tokens">{t('nav.tokens')}</Link>} />
      {issued ? (
        <>
          <IssuedSecret token={issued} />
          <p>
            <Link to="/tokens/$id" params={{ id: issued.id }}>
              {t('token.show')}
            </Link>
          </p>
        </>
      ) : (
        <TokenForm
          values={{ ...newTokenValues(), project }}
          isNew
          action={t('tokens.create')}
          onSubmit={async (values) => {
            const body = toNewToken(values)
            try {
              setIssued(await call<OperatorTokenWithSecret>(tokensPath, { method: 'POST', body }))
            } catch (cause) {
              // A secret is shown once.
              const isLost = cause instanceof Unavailable && cause.reason === null
              throw isLost ? new Error(t('token.isLost', { name: values.name }), { cause }) : cause
            }
            await queries.invalidateQueries({ predicate: isOfTokens })
          }}
        />
      )}
    </>
  )
}

/** The new secret of a token, and a request that works with it as it is. */
export function IssuedSecret({ token }: { token: OperatorTokenWithSecret }) {
  const t = useText()
  const { data: models = [] } = useModels()
  const toSamples = useSamples()
  const { secret, kind } = token
  const names = models.map(({ id }) => id)
  const model = firstAllowed(names, token.models) ?? names[0] ?? 'studio'
  const { curl = '', CLI = '' } = toSamples({ path: '/v1/videos', body: { model, prompt: t('videos.firstPrompt') } })
  const samples =
    kind === 'operator'
      ? {
          curl: `curl ${location.origin}/operator/v1/status \\\n  -H "Authorization: Bearer ${secret}"`,
          CLI: `export FILMGATE_BASE_URL=${location.origin}\nexport FILMGATE_OPERATOR_TOKEN=${secret}\nnpx filmgate status`,
        }
      : { curl: curl.replace('$FILMGATE_TOKEN', secret), CLI: `export FILMGATE_TOKEN=${secret}\n${CLI}` }
  return <Secret title={t('token.secret', { name: token.name })} secret={secret} samples={samples} />
}
