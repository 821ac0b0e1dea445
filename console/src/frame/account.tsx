import { Menu } from '@base-ui/react/menu'
import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Failure } from '../parts/prose.tsx'
import { languages, setPreferences, themes, usePreferences } from '../preferences.ts'
import { signOut, useSession } from '../session.tsx'
import { useText } from '../text.tsx'

/** Who is signed in, the theme and the language. */
export function Account({ version, onSignIn }: { version: string; onSignIn: () => void }) {
  const t = useText()
  const { name, kind, role, client } = useSession()
  const { theme, language } = usePreferences()
  const navigate = useNavigate()
  const {
    mutate: leave,
    error,
    isPending,
  } = useMutation({
    mutationFn: async () => {
      await signOut()
      // The next person may not see this page.
      await navigate({ to: '/' })
    },
  })
  const what = kind === 'client' ? t('account.client') : role === 'viewer' ? t('account.viewer') : t('account.admin')
  return (
    // Modal, it would stop the page from scrolling, and the bar would end before the edge.
    <Menu.Root modal={false}>
      <Menu.Trigger className="account">
        <span className="initial" aria-hidden="true">
          {name.slice(0, 1).toUpperCase()}
        </span>
        <bdi className="who">{name}</bdi>
        <span className="hidden">{t('account.menu')}</span>
      </Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner align="end" sideOffset={6} className="above">
          <Menu.Popup className="menu">
            <p className="menu-head">
              <strong>
                <bdi>{name}</bdi>
              </strong>
              <span>{what}</span>
              {kind === 'operator' && client && <span>{t('account.creates', { name: client.name })}</span>}
            </p>
            <Menu.RadioGroup value={theme} onValueChange={(value) => setPreferences({ theme: value })}>
              {themes.map((one) => (
                <Menu.RadioItem key={one} value={one} closeOnClick={false}>
                  {t(`theme.${one}`)}
                  <Menu.RadioItemIndicator>✓</Menu.RadioItemIndicator>
                </Menu.RadioItem>
              ))}
            </Menu.RadioGroup>
            <Menu.Separator />
            <Menu.RadioGroup value={language} onValueChange={(value) => setPreferences({ language: value })}>
              {Object.entries(languages).map(([code, own]) => (
                <Menu.RadioItem key={code} value={code} closeOnClick={false}>
                  {own}
                  <Menu.RadioItemIndicator>✓</Menu.RadioItemIndicator>
                </Menu.RadioItem>
              ))}
            </Menu.RadioGroup>
            <Menu.Separator />
            <Menu.Item onClick={onSignIn}>{t('account.signIn')}</Menu.Item>
            <Menu.Item closeOnClick={false} disabled={isPending} onClick={() => leave()}>
              {t('account.signOut')}
            </Menu.Item>
            <Failure error={error} />
            <p className="menu-foot">{t('account.version', { version })}</p>
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}
