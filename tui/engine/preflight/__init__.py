"""What must hold on hosts before a load starts: rules, and a look before the launch."""
