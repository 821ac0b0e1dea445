/** The official Java SDK. Endpoints first: what is made after that is told to them. */
public final class Main {
    public static void main(String[] args) {
        Webhooks.register();
        Models.check();
        Videos.check();
        Derived.check();
        Lists.check();
        Webhooks.check();
        // The SDK's threads would keep the process for a minute more.
        System.exit(0);
    }
}
